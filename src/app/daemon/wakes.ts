/** How sessions are reached: those who listen are told at once; for the others there may be a command that wakes them. */
import type { Session } from "../../domain/session.ts";
import { later, type Millis } from "../../domain/time.ts";
import type { Clock } from "../../effects/clock.ts";
import type { Waker, WakeTarget } from "../../engine/cycle-port.ts";
import type { Wake } from "../../wire/service.ts";
import { isoOf } from "./reply.ts";

/** Runs a command that wakes or starts somebody. Resolves when it has ended well. */
export type Call = (command: readonly string[], env: Readonly<Record<string, string>>) => Promise<void>;

export interface WakesDeps {
  readonly clock: Clock;
  readonly call: Call;
  /** The command that wakes a session of the pool, if there is one. */
  readonly hookOf: (pool: string) => readonly string[] | undefined;
  readonly sessionOf: (id: string) => Session | undefined;
}

/** A wake that nobody has fetched. The last one is enough: it says that there is something, and a claim finds what. */
type Mailbox = { readonly listeners: Set<(wake: Wake) => void>; waiting: Wake | undefined };

export class Wakes implements Waker {
  readonly #deps: WakesDeps;
  readonly #boxes = new Map<string, Mailbox>();

  constructor(deps: WakesDeps) {
    this.#deps = deps;
  }

  /** Whether there is any way to reach the session. */
  reaches({ profile }: Session): boolean {
    return this.#boxes.has(profile.id) || this.#deps.hookOf(profile.pool) !== undefined;
  }

  /** One call for all; one answer for each. */
  wake(targets: readonly WakeTarget[]): Promise<readonly (Error | undefined)[]> {
    return Promise.all(targets.map((target) => this.#one(target)));
  }

  /** The next wake for the session, within the wait. */
  async next(session: string, wait: Millis, signal: AbortSignal | undefined): Promise<Wake | undefined> {
    const { clock } = this.#deps;
    const box = this.#open(session);
    if (box.waiting !== undefined) {
      const wake = box.waiting;
      box.waiting = undefined;
      return wake;
    }
    const found = Promise.withResolvers<Wake | undefined>();
    const timer = clock.at(later(clock.now(), wait), () => found.resolve(undefined));
    const giveUp = (): void => found.resolve(undefined);
    signal?.addEventListener("abort", giveUp);
    if (signal?.aborted === true) giveUp();
    box.listeners.add(found.resolve);
    try {
      return await found.promise;
    } finally {
      box.listeners.delete(found.resolve);
      timer.cancel();
      signal?.removeEventListener("abort", giveUp);
    }
  }

  forget(session: string): void {
    this.#boxes.delete(session);
  }

  /** Nobody is told anything more. */
  close(): void {
    this.#boxes.clear();
  }

  async #one(target: WakeTarget): Promise<Error | undefined> {
    const { session, run, task, until, reason } = target;
    const title = task.spec.title === undefined ? {} : { title: task.spec.title };
    const wake: Wake = { run: run.manifest.id, task: task.spec.id, until: isoOf(until), reason, ...title };
    const box = this.#boxes.get(session);
    const [first] = box?.listeners ?? [];
    if (first !== undefined) {
      first(wake);
      return undefined;
    }
    const known = this.#deps.sessionOf(session);
    const hook = known && this.#deps.hookOf(known.profile.pool);
    if (hook !== undefined) return this.#callHook(hook, target);
    if (box === undefined) return new Error("there is no way to reach it");
    box.waiting = wake;
    return undefined;
  }

  async #callHook(hook: readonly string[], { session, run, task }: WakeTarget): Promise<Error | undefined> {
    const env = { ROTA_SESSION: session, ROTA_RUN: run.manifest.id, ROTA_TASK: task.spec.id };
    try {
      await this.#deps.call(hook, env);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #open(session: string): Mailbox {
    const known = this.#boxes.get(session) ?? { listeners: new Set(), waiting: undefined };
    this.#boxes.set(session, known);
    return known;
  }
}

/** How sessions are reached: sessions that listen are told at once; for the others a pool may have a command that wakes them. */
import type { Session } from "../../domain/sessions/session.ts";
import { type Instant, later, type Millis, seconds } from "../../domain/time.ts";
import type { Clock, Timer } from "../../effects/clock.ts";
import type { Waker, WakeTarget } from "../../engine/wake/wake-port.ts";
import type { Wake } from "../../wire/answers.ts";
import { isoOf } from "./reply.ts";
import type { WakeMany } from "./wake-parts.ts";

/** Runs a command that wakes or starts a session. Resolves when the command has ended well. */
export type Call = (command: readonly string[], env: Readonly<Record<string, string>>) => Promise<void>;

export interface WakesDeps {
  readonly clock: Clock;
  readonly call: Call;
  /** The command that wakes a session of the pool, if there is one. */
  readonly hookOf: (pool: string) => readonly string[] | undefined;
  readonly sessionOf: (id: string) => Session | undefined;
  /** Wakes sessions that do not listen, in place of the commands of their pools. */
  readonly wakeMany?: WakeMany | undefined;
}

/** A call of a session that waits for a wake. */
export interface Attending {
  readonly wait: Millis;
  readonly signal: AbortSignal | undefined;
  /** The present offer to the session. */
  readonly offered: () => Wake | undefined;
}

interface Listener extends Attending {
  readonly answer: (wake: Wake | undefined) => void;
  timer?: Timer;
}

interface Mailbox {
  readonly listeners: Set<Listener>;
  /** A wake that the session has not fetched. The last one is enough: it says that a task waits, and a claim finds which. */
  waiting?: Wake;
  /** The last wake that was sent. */
  told?: { readonly wake: Wake; readonly at: Instant; readonly signal: AbortSignal | undefined };
}

/** An answer may get lost on its way, so an offer that was not claimed is sent again, this much later. */
const AGAIN = seconds(1);

export class Wakes implements Waker {
  readonly #deps: WakesDeps;
  readonly #boxes = new Map<string, Mailbox>();

  constructor(deps: WakesDeps) {
    this.#deps = deps;
  }

  /** Whether there is any way to reach the session. */
  reaches({ profile }: Session): boolean {
    return (
      this.#deps.wakeMany !== undefined || this.#boxes.has(profile.id) || this.#deps.hookOf(profile.pool) !== undefined
    );
  }

  /** One call for all targets, with one answer for each. */
  async wake(targets: readonly WakeTarget[]): Promise<readonly (Error | undefined)[]> {
    const { wakeMany } = this.#deps;
    if (wakeMany === undefined) return Promise.all(targets.map((target) => this.#one(target)));
    const left = targets.filter((target) => !this.#tellListener(target));
    const errors = left.length === 0 ? [] : await wakeMany(left);
    return targets.map((target) => errors[left.indexOf(target)]);
  }

  /** The next wake for the session, within the wait. */
  async next(session: string, attending: Attending): Promise<Wake | undefined> {
    const { clock } = this.#deps;
    const { wait, signal } = attending;
    const box = this.#open(session);
    const found = Promise.withResolvers<Wake | undefined>();
    const listener: Listener = { ...attending, answer: found.resolve };
    const timer = clock.at(later(clock.now(), wait), () => found.resolve(undefined));
    const giveUp = (): void => found.resolve(undefined);
    signal?.addEventListener("abort", giveUp);
    box.listeners.add(listener);
    if (signal?.aborted === true) giveUp();
    else this.#look(box, listener);
    try {
      return await found.promise;
    } finally {
      box.listeners.delete(listener);
      listener.timer?.cancel();
      timer.cancel();
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** The session has left: calls that still come in its name get nothing. */
  forget(session: string): void {
    for (const { answer, timer } of this.#boxes.get(session)?.listeners ?? []) {
      timer?.cancel();
      answer(undefined);
    }
    this.#boxes.delete(session);
  }

  /** No call is told anything more. */
  close(): void {
    for (const session of [...this.#boxes.keys()]) this.forget(session);
  }

  async #one(target: WakeTarget): Promise<Error | undefined> {
    if (this.#tellListener(target)) return undefined;
    const { session, reason } = target;
    const box = this.#boxes.get(session);
    const known = this.#deps.sessionOf(session);
    const hook = known && this.#deps.hookOf(known.profile.pool);
    if (hook !== undefined) return this.#callHook(hook, target);
    if (box === undefined) return new Error("there is no way to reach it");
    // The session finds an offer when it asks; a wake without an offer must be kept for it.
    if (reason === "fan-out") box.waiting = wakeOf(target);
    return undefined;
  }

  /** Whether the session listens, or knows of the offer already: a session that asked while the offer was being written has found it. */
  #tellListener(target: WakeTarget): boolean {
    const wake = wakeOf(target);
    const box = this.#boxes.get(target.session);
    const [first] = box?.listeners ?? [];
    if (box === undefined) return false;
    if (first === undefined) return box.told !== undefined && isSame(box.told.wake, wake);
    this.#tell(box, first, wake);
    return true;
  }

  /** Tells the listener about a wake that is there already, now or when it is time to repeat it. */
  #look(box: Mailbox, listener: Listener): void {
    const { clock } = this.#deps;
    const { signal, offered } = listener;
    const { waiting, told } = box;
    delete box.waiting;
    const wake = waiting ?? offered();
    if (wake === undefined) return;
    if (told === undefined || !isSame(told.wake, wake)) return this.#tell(box, listener, wake);
    // A stream that is still open has received what was sent.
    if (signal !== undefined && signal === told.signal) return;
    const due = later(told.at, AGAIN);
    if (due <= clock.now()) return this.#tell(box, listener, wake);
    listener.timer?.cancel();
    listener.timer = clock.at(due, () => this.#look(box, listener));
  }

  /** One listener is enough. The others are told if no session comes: the caller of the first may be long gone. */
  #tell(box: Mailbox, listener: Listener, wake: Wake): void {
    const { signal, answer } = listener;
    box.told = { wake, at: this.#deps.clock.now(), signal };
    box.listeners.delete(listener);
    answer(wake);
    for (const other of box.listeners) this.#look(box, other);
  }

  async #callHook(hook: readonly string[], { session, run, task, why }: WakeTarget): Promise<Error | undefined> {
    const env = { ROTA_SESSION: session, ROTA_RUN: run.manifest.id, ROTA_TASK: task.spec.id, ROTA_WAKE_REASON: why };
    try {
      await this.#deps.call(hook, env);
      return undefined;
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error));
    }
  }

  #open(session: string): Mailbox {
    const known = this.#boxes.get(session) ?? { listeners: new Set() };
    this.#boxes.set(session, known);
    return known;
  }
}

/** The wake as the session gets it. */
export function wakeOf({ run, task, until, reason, why }: Omit<WakeTarget, "session">): Wake {
  const title = task.spec.title === undefined ? {} : { title: task.spec.title };
  return { run: run.manifest.id, task: task.spec.id, until: isoOf(until), reason, why, ...title };
}

const isSame = (a: Wake, b: Wake): boolean => a.run === b.run && a.task === b.task && a.until === b.until;

/** The scheduler's end of the talk with one spawner. */
import type { ProcessIdentity } from "../../domain/task.ts";
import { unreachable } from "../../std/invariant.ts";
import type { Bound } from "./bound.ts";
import type { Channel, Connect } from "./channel.ts";
import type { Ended, FromSpawner, Hello, Start, ToSpawner } from "./messages.ts";

/** Ends are acknowledged in bundles: the spawner keeps them a while longer anyway. */
const HEARD_BUNDLE = 32;

/** What becomes of attempts when the talk is over: `replaced` when another took them over, else their spawner is gone. */
export type Lost = (link: Link, left: readonly Bound[], replaced: boolean) => void;

export class Link {
  readonly id: string;
  /** Kept when the spawner has answered; `false` when it never will. */
  readonly ready: Promise<boolean>;
  /** Kept when the talk is over. */
  readonly closed: Promise<void>;
  /** Gets an attempt ready that may be started or not, where that makes starting it quicker. */
  prepare: ((order: Start, ahead: boolean) => void) | undefined;
  /** What was got ready there is not going to be started. */
  forgo: ((key: string) => void) | undefined;
  /** Running there without anybody here who asked for it: left by an earlier scheduler. */
  readonly unclaimed = new Map<string, ProcessIdentity | undefined>();
  /** Ended there, and nobody here has asked yet. */
  readonly ends = new Map<string, Ended>();

  readonly #bound = new Map<string, Bound>();
  /** What was asked for before the first answer: it can be asked of another where none ever comes. */
  readonly #unanswered = new Map<string, Start>();
  readonly #channel: Channel;
  #heard: string[] = [];
  #open = true;
  #answered = false;
  #replaced = false;
  #answer!: (ready: boolean) => void;

  constructor(id: string, connect: Connect<FromSpawner>, hello: Hello, lost: Lost) {
    this.id = id;
    this.ready = new Promise((resolve) => {
      this.#answer = resolve;
    });
    const over = Promise.withResolvers<void>();
    this.closed = over.promise;
    this.#channel = connect(
      (message) => this.#hear(message),
      () => {
        this.#open = false;
        this.#answer(false);
        const left = [...this.#bound.values()];
        this.#bound.clear();
        this.unclaimed.clear();
        lost(this, left, this.#replaced);
        over.resolve();
      },
    );
    this.#say(hello);
  }

  /** It has said something. */
  get answered(): boolean {
    return this.#answered;
  }

  get open(): boolean {
    return this.#open;
  }

  /** Attempts of ours that run there. */
  get bound(): ReadonlyMap<string, Bound> {
    return this.#bound;
  }

  start(order: Start, bound: Bound): void {
    this.#bind(bound);
    if (!this.#answered) this.#unanswered.set(order.key, order);
    this.#say(order);
  }

  /** What was asked for an attempt, where nothing can have come of it. */
  unanswered(key: string): Start | undefined {
    return this.#unanswered.get(key);
  }

  /** Takes over what runs there, or what is known of its end. */
  adopt(bound: Bound): boolean {
    const { key } = bound;
    const ended = this.ends.get(key);
    if (ended !== undefined) {
      this.ends.delete(key);
      this.#hearOf(key);
      if (ended.process !== undefined) bound.started(ended.process);
      bound.settle(ended.outcome);
      return true;
    }
    if (!this.unclaimed.has(key)) return false;
    this.#bind(bound);
    bound.started(this.unclaimed.get(key));
    this.unclaimed.delete(key);
    return true;
  }

  /** Nobody will ask for the ends that nobody has asked for. */
  forgetEnds(): void {
    for (const key of this.ends.keys()) this.#hearOf(key);
    this.ends.clear();
    this.#flushHeard();
  }

  goodbye(): void {
    this.#flushHeard();
    this.#say({ kind: "goodbye" });
  }

  #bind(bound: Bound): void {
    this.#bound.set(bound.key, bound);
    bound.ask = (reason, grace) => this.#say({ kind: "stop", key: bound.key, reason, graceMs: grace });
  }

  #hear(message: FromSpawner): void {
    switch (message.kind) {
      case "welcome":
        for (const { key, process } of message.live) if (!this.#bound.has(key)) this.unclaimed.set(key, process);
        for (const ended of message.ends) this.ends.set(ended.key, ended);
        this.#answered = true;
        this.#unanswered.clear();
        this.#answer(true);
        break;
      case "started":
        this.#bound.get(message.key)?.started(message.process);
        break;
      case "progressed":
        this.#bound.get(message.key)?.watch.progressed();
        break;
      case "ended":
        this.#end(message);
        break;
      case "replaced":
        this.#replaced = true;
        break;
      default:
        unreachable(message);
    }
  }

  #end(ended: Ended): void {
    const bound = this.#bound.get(ended.key);
    this.unclaimed.delete(ended.key);
    if (bound === undefined) {
      this.ends.set(ended.key, ended);
      return;
    }
    this.#bound.delete(ended.key);
    this.#hearOf(ended.key);
    bound.settle(ended.outcome);
  }

  #hearOf(key: string): void {
    this.#heard.push(key);
    if (this.#heard.length >= HEARD_BUNDLE || this.#bound.size === 0) this.#flushHeard();
  }

  #flushHeard(): void {
    if (this.#heard.length > 0) this.#say({ kind: "heard", keys: this.#heard });
    this.#heard = [];
  }

  #say(message: ToSpawner): void {
    this.#channel.send(message);
  }
}

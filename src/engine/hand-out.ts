/** Gives tasks to this machine's workers: each claim is an event, and what it leads to is begun when that is durable, or before where it may be. */
import type { Assignment, Dispatcher } from "../decide/dispatcher.ts";
import { NO_TOKEN } from "../domain/lease.ts";
import type { Task } from "../domain/task.ts";
import { later, type Millis } from "../domain/time.ts";
import type { Attempts, Begun } from "./attempts.ts";
import { Clearances } from "./clearances.ts";
import type { Outbox } from "./outbox.ts";
import type { Turn } from "./settle.ts";

export interface HandOutDeps {
  readonly dispatcher: Dispatcher;
  readonly attempts: Attempts;
  readonly outbox: Outbox;
  readonly ttl: Millis;
  /** Whether to begin early is worth it. */
  readonly isEager: boolean;
}

/** Whoever it is for sees everything. */
const ANYTHING = { sees: () => true };

export class HandOut {
  readonly #deps: HandOutDeps;
  readonly #clearances: Clearances | undefined;

  constructor(deps: HandOutDeps) {
    this.#deps = deps;
    this.#clearances = deps.isEager ? new Clearances(deps) : undefined;
  }

  claim(turn: Turn, assignment: Assignment): void {
    const { attempts, outbox } = this.#deps;
    const { run, task } = assignment;
    const mayBegin = this.#clearances?.has(task) === true;
    const next = this.#clearances?.after(run, task);
    this.#record(turn, assignment, next);
    const live = attempts.enter(run, task, mayBegin);
    outbox.start(live);
    this.#clearances?.give(run, task, next, live);
  }

  /** Goes on with what was begun before its claim was written down, as if it were claimed now. False where that may not be. */
  takeOver(turn: Turn, begun: Begun): boolean {
    const { dispatcher, outbox } = this.#deps;
    const worker = dispatcher.nodes[0]?.next(undefined);
    const assignment = worker && dispatcher.exactFor(worker, ANYTHING, begun.task, turn.now);
    if (assignment === undefined) return false;
    this.#record(turn, assignment, undefined);
    outbox.start(begun.take());
    return true;
  }

  /** Its claim is over. */
  ended(task: Task): void {
    this.#clearances?.end(task);
  }

  /** It is another than it was. */
  changed(task: Task): void {
    this.#clearances?.drop(task);
  }

  /** To be called at the end of each turn. */
  settle(): void {
    this.#clearances?.settle();
  }

  #record({ now, journal }: Turn, { run, task, worker, evidence }: Assignment, next: Task | undefined): void {
    const deadline = later(now, this.#deps.ttl);
    const claimed = { kind: "claimed", worker, deadline, tokenHash: NO_TOKEN, evidence } as const;
    journal.ofTask(run, task, next === undefined ? claimed : { ...claimed, next: next.no }, now);
  }
}

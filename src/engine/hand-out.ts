/** Gives tasks to this machine's workers: each claim is an event, and what it leads to is begun when that is durable, or before where it may be. */
import type { Assignment, Dispatcher } from "../decide/dispatcher.ts";
import { goesAlone } from "../decide/foresee.ts";
import { NO_TOKEN } from "../domain/lease.ts";
import { isHeld, type Task } from "../domain/task.ts";
import { later, type Millis } from "../domain/time.ts";
import type { Attempts, Begun, Live } from "./attempts.ts";
import { Clearances } from "./clearances.ts";
import type { Gate } from "./gate.ts";
import type { Outbox } from "./outbox.ts";
import { type Turn, voidClaim } from "./settle.ts";

export interface HandOutDeps {
  readonly dispatcher: Dispatcher;
  readonly attempts: Attempts;
  readonly outbox: Outbox;
  readonly ttl: Millis;
  readonly gate: Gate;
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
    const assignment = this.#exact(turn, begun.task);
    if (assignment === undefined) return false;
    this.#record(turn, assignment, undefined);
    this.#deps.outbox.start(begun.take());
    return true;
  }

  /**
   * An attempt has ended well, and that is dealt with next. If there is only one that can go then, and it may be begun before its claim is
   * written, it is begun before everything else: all that is to be done about both is done while it begins.
   */
  hurry(live: Live): void {
    const { dispatcher, attempts } = this.#deps;
    const { run, task } = live;
    if (isHeld(task.status) && task.status.stopping !== undefined) return;
    const next = this.#clearances?.namedBy(live);
    if (next !== undefined && goesAlone(dispatcher, run, task, next)) attempts.beginAfter(live, next);
  }

  /** The end of this one is dealt with. Claims what was begun at it; should that not be possible, that is ended, and its number is not used. */
  takeUp(turn: Turn, ended: Task, fence: number): void {
    const { attempts, gate } = this.#deps;
    attempts.heard(ended, fence);
    const begun = attempts.begunAfter(ended);
    if (begun === undefined) return;
    const isUnwanted = begun.isOutdated || gate.isShut;
    const assignment = isUnwanted ? undefined : this.#exact(turn, begun.task);
    if (assignment !== undefined) return this.claim(turn, assignment);
    const gone = attempts.giveUp(begun);
    void gate.hold(() => gone);
    voidClaim(turn, begun.run, begun.task);
  }

  /** Its claim is over. */
  ended(task: Task): void {
    this.#clearances?.end(task);
  }

  /** It is another than it was. */
  changed(task: Task): void {
    this.#deps.attempts.outdate(task);
    this.#clearances?.drop(task);
  }

  /** To be called at the end of each turn. */
  settle(): void {
    this.#clearances?.settle();
  }

  #exact({ now }: Turn, task: Task): Assignment | undefined {
    const { dispatcher } = this.#deps;
    const worker = dispatcher.nodes[0]?.next(undefined);
    return worker && dispatcher.exactFor(worker, ANYTHING, task, now);
  }

  #record({ now, journal }: Turn, { run, task, worker, evidence }: Assignment, next: Task | undefined): void {
    const deadline = later(now, this.#deps.ttl);
    const claimed = { kind: "claimed", worker, deadline, tokenHash: NO_TOKEN, evidence } as const;
    journal.ofTask(run, task, next === undefined ? claimed : { ...claimed, next: next.no }, now);
  }
}

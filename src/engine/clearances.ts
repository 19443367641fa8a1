/**
 * Who may be begun before their own claim is durable. To wait for the commit between the end of a task and the beginning of the next is what
 * short tasks spend most of their time on; so a claim says, when it is written, which task may be begun early as long as it is on record. If
 * the scheduler dies in between, the next one finds that on record, and goes on with what was begun, or ends it and does not use that number.
 */
import type { Dispatcher } from "../decide/dispatcher.ts";
import { foresee } from "../decide/foresee.ts";
import type { Run } from "../domain/run.ts";
import type { Task } from "../domain/task.ts";
import type { Attempts, Live } from "./attempts.ts";

export interface ClearancesDeps {
  readonly dispatcher: Dispatcher;
  readonly attempts: Attempts;
}

export class Clearances {
  readonly #deps: ClearancesDeps;
  /** Whose claim names each of them. */
  readonly #given = new Map<Task, Live>();
  /** Claims that have ended in this turn, and with them what they had on record: whoever they name is begun now or waits for a claim of its own. */
  #over: Task[] = [];

  constructor(deps: ClearancesDeps) {
    this.#deps = deps;
  }

  /** Whether it may be begun at once. */
  has(task: Task): boolean {
    return this.#given.get(task)?.isWritten === true;
  }

  /** Whom this claim names, if that is on record. */
  namedBy(live: Live): Task | undefined {
    if (!live.isWritten) return undefined;
    for (const [next, by] of this.#given) if (by === live) return next;
    return undefined;
  }

  /** Whom the claim of this task should name: not more than can go out at once are named at any time. */
  after(run: Run, task: Task): Task | undefined {
    const { dispatcher } = this.#deps;
    const left = this.#given.size - (this.#given.has(task) ? 1 : 0);
    return left < dispatcher.workers ? foresee(dispatcher, run, task, (other) => this.#given.has(other)) : undefined;
  }

  /** The task was claimed, and its claim names this other one. */
  give(run: Run, task: Task, next: Task | undefined, live: Live): void {
    this.#given.delete(task);
    if (next === undefined) return;
    this.#given.set(next, live);
    const { attempts } = this.#deps;
    // One that is ready is claimed when a worker is free, and until then others need the processor. One that waits for this alone is next for certain.
    if (next.status.state === "blocked" && attempts.areShort) attempts.prepareAhead(run, next);
  }

  /** Its claim is over. */
  end(task: Task): void {
    this.#over.push(task);
  }

  /** To be called at the end of each turn. */
  settle(): void {
    if (this.#over.length === 0) return;
    const over = new Set(this.#over);
    this.#over = [];
    for (const [next, live] of this.#given) if (over.has(live.task)) this.drop(next);
  }

  /** It waits for a claim of its own again. */
  drop(task: Task): void {
    this.#given.delete(task);
    this.#deps.attempts.forgo(task);
  }
}

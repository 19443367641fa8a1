/** The course of a run, from its events: how long its attempts took, and which end let each task start. */
import { type Event, isTaskEvent, type TaskEvent } from "../../domain/event.ts";
import { type TaskNo, taskNo } from "../../domain/graph.ts";
import type { TaskId, WorkerId } from "../../domain/ids.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import { type Instant, type Millis, millis } from "../../domain/time.ts";
import { endOf } from "./attempt-end.ts";

/** One link of the chain that decided when a run ended. */
export interface Link {
  readonly task: TaskId;
  /** The sum of its attempts. */
  readonly durationMs: Millis;
}

type ClaimedEvent = Extract<TaskEvent, { readonly kind: "claimed" }>;

/** A few numbers for each task, and none for each attempt: a run may have a million tasks. */
export class RunProgress {
  readonly #run: Run;
  readonly #since: Instant;
  readonly #work: Float64Array;
  /** When its last attempt ended; 0 before that. */
  readonly #endedAt: Float64Array;
  /** The task whose end let this one be claimed, counted from 1; 0 where none did. */
  readonly #before: Int32Array;
  readonly #held = new Map<TaskNo, ClaimedEvent>();
  /** The tasks that ended in the turn that is being read, by worker: their workers are given out in the same turn. */
  readonly #freed = new Map<WorkerId, TaskNo>();
  readonly #ended = new Set<TaskNo>();
  #lastEnded: TaskNo | undefined;
  #turn = 0;
  #last: TaskNo | undefined;

  /** Work from before `since` does not count. */
  constructor(run: Run, since: Instant = run.manifest.submittedAt) {
    this.#run = run;
    this.#since = since;
    this.#work = new Float64Array(run.tasks.length);
    this.#endedAt = new Float64Array(run.tasks.length);
    this.#before = new Int32Array(run.tasks.length);
  }

  static of(run: Run, events: Iterable<Event>, since?: Instant): RunProgress {
    const progress = new RunProgress(run, since);
    for (const event of events) progress.add(event);
    return progress;
  }

  get since(): Instant {
    return this.#since;
  }

  /** The sum of all attempts, failed ones included: one after the other they would have taken this long. */
  get workMs(): Millis {
    return millis(this.#work.reduce((sum, each) => sum + each, 0));
  }

  /** Events come in order. Events of other runs are skipped. */
  add(event: Event): void {
    if (event.run !== this.#run.no || !isTaskEvent(event)) return;
    if (event.at !== this.#turn) {
      this.#freed.clear();
      this.#ended.clear();
    }
    this.#turn = event.at;
    if (event.kind === "claimed") this.#claim(event);
    else this.#end(event);
  }

  /** The chain that decided when the run ended, the first link first: from the task that ended last, back to the end that let each task start. */
  path(): readonly Link[] {
    const path = new Map<TaskNo, Link>();
    for (let no = this.#last; no !== undefined && !path.has(no); no = this.#beforeOf(no)) {
      if ((this.#endedAt[no] as number) < this.#since) break;
      path.set(no, { task: taskOf(this.#run, no).spec.id, durationMs: millis(this.#work[no] as number) });
    }
    return [...path.values()].reverse();
  }

  /** A second attempt waits for its back-off, and not for another task. */
  #claim(event: ClaimedEvent): void {
    const { task, attempt } = event;
    this.#held.set(task, event);
    if (attempt === 1) this.#before[task] = this.#whoLet(event) + 1;
  }

  /** A need that ended in this turn; else the task that freed the worker; else the task that ended last. */
  #whoLet({ task, worker }: ClaimedEvent): number {
    if (this.#lastEnded === undefined || this.#ended.size === 0) return -1;
    let need: TaskNo | undefined;
    this.#run.graph.eachNeed(task, (no) => {
      if (this.#ended.has(no)) need = no;
    });
    return need ?? this.#freed.get(worker) ?? this.#lastEnded;
  }

  #end(event: TaskEvent): void {
    const { task, at } = event;
    const held = this.#held.get(task);
    // A claim from before the first event here has at least an outcome; without either no worker held the task.
    const wholeMs = ("outcome" in event ? event.outcome?.durationMs : undefined) ?? (held && at - held.at);
    if (wholeMs === undefined || endOf(event) === undefined) return;
    if (held !== undefined) this.#freed.set(held.worker, task);
    this.#held.delete(task);
    this.#ended.add(task);
    this.#lastEnded = task;
    this.#work[task] = (this.#work[task] as number) + Math.max(0, Math.min(wholeMs, at - this.#since));
    this.#endedAt[task] = at;
    if (event.kind === "succeeded" || event.kind === "failed") this.#last = task;
  }

  #beforeOf(no: TaskNo): TaskNo | undefined {
    const before = this.#before[no] as number;
    return before > 0 ? taskNo(before - 1) : this.#lastNeed(no);
  }

  #lastNeed(task: TaskNo): TaskNo | undefined {
    let last: TaskNo | undefined;
    let lastAt = 0;
    this.#run.graph.eachNeed(task, (no) => {
      const at = this.#endedAt[no] as number;
      if (at <= lastAt) return;
      last = no;
      lastAt = at;
    });
    return last;
  }
}

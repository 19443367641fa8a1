/** The course a run took, from its events: what its attempts took, and whose end let each task go. */
import { type Event, isTaskEvent, type TaskEvent } from "../domain/event.ts";
import { type TaskNo, taskNo } from "../domain/graph.ts";
import type { TaskId, WorkerId } from "../domain/ids.ts";
import { type Run, taskOf } from "../domain/run.ts";
import { type Instant, type Millis, millis } from "../domain/time.ts";
import { endOf } from "./attempt-end.ts";

/** One link of the chain that decided when a run ended. */
export interface Link {
  readonly task: TaskId;
  /** What all its attempts took. */
  readonly durationMs: Millis;
}

type Claimed = Extract<TaskEvent, { readonly kind: "claimed" }>;

/** A few numbers for each task, and nothing for each attempt: a run may have a million. */
export class Course {
  readonly #run: Run;
  readonly #since: Instant;
  readonly #work: Float64Array;
  /** When its last attempt ended; 0 before that. */
  readonly #endedAt: Float64Array;
  /** Whose end let the task be claimed, counted from 1; 0 where nobody's did. */
  readonly #before: Int32Array;
  readonly #held = new Map<TaskNo, Claimed>();
  /** Those that ended in the turn that is being told, by worker: what they leave free is given out in the same one. */
  readonly #freed = new Map<WorkerId, TaskNo>();
  readonly #ended = new Set<TaskNo>();
  #lastEnded: TaskNo | undefined;
  #turn = 0;
  #last: TaskNo | undefined;

  /** Of what was done before `since`, nothing counts. */
  constructor(run: Run, since: Instant = run.manifest.submittedAt) {
    this.#run = run;
    this.#since = since;
    this.#work = new Float64Array(run.tasks.length);
    this.#endedAt = new Float64Array(run.tasks.length);
    this.#before = new Int32Array(run.tasks.length);
  }

  static of(run: Run, events: Iterable<Event>, since?: Instant): Course {
    const course = new Course(run, since);
    for (const event of events) course.add(event);
    return course;
  }

  get since(): Instant {
    return this.#since;
  }

  /** What all attempts took, those that failed too: one after the other it would have been as long. */
  get workMs(): Millis {
    return millis(this.#work.reduce((sum, each) => sum + each, 0));
  }

  /** Events are told in order. Those of other runs are passed over. */
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

  /** The chain that decided when the run ended, the first link first: from what ended last, back to whose end let each one go. */
  path(): readonly Link[] {
    const path = new Map<TaskNo, Link>();
    for (let no = this.#last; no !== undefined && !path.has(no); no = this.#beforeOf(no)) {
      if ((this.#endedAt[no] as number) < this.#since) break;
      path.set(no, { task: taskOf(this.#run, no).spec.id, durationMs: millis(this.#work[no] as number) });
    }
    return [...path.values()].reverse();
  }

  /** A second attempt waits for its back-off, which is its own matter. */
  #claim(event: Claimed): void {
    const { task, attempt } = event;
    this.#held.set(task, event);
    if (attempt === 1) this.#before[task] = this.#whoLet(event) + 1;
  }

  /** A need first, then whoever had the worker; else whoever made room at all. */
  #whoLet({ task, worker }: Claimed): number {
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
    // What was claimed before anything was told here has at least its outcome; without either nobody had it.
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

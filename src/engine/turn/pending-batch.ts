/** The events since the last commit: each one is folded into the World at once, and waits here to be written. */

import type { DurationSample } from "../../domain/durations/history.ts";
import {
  type Event,
  isFromCall,
  NO_RUN,
  type RunNews,
  type RunSubmitted,
  type SystemNews,
  type TaskNews,
} from "../../domain/event.ts";
import type { WorkerId } from "../../domain/ids.ts";
import { reduce } from "../../domain/reduce.ts";
import type { Run, RunNo } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import { pausesOf, scopeKey } from "../../domain/waiting/pause.ts";
import type { Change, World } from "../../domain/world.ts";
import { type RunRow, toRunRow, toTaskRow } from "../../store/rows.ts";
import type { Batch, DoneKey, Epoch, Remembered, TaskWrite } from "../../store/store.ts";
import { doneKeys } from "../work/done-keys.ts";

/** These events can be found out again, so no caller needs them at once: they wait for the next commit, for a moment. */
const LAZY: ReadonlySet<Event["kind"]> = new Set(["started", "lease_renewed", "silent", "waiting"]);

export class PendingBatch {
  readonly #world: World;
  readonly #observe: (change: Change) => void;
  #events: Event[] = [];
  /** The changes of the last event. */
  readonly #changes: Change[] = [];
  #submitted: RunSubmitted[] = [];
  #runs = new Set<RunNo>();
  /** Tasks to write, with the version the store has of them. */
  #tasks = new Map<Task, { readonly run: Run; readonly replaces: number }>();
  #requestsDone: number[] = [];
  #durationSamples: Batch["durationSamples"][number][] = [];
  #urgent = false;
  #edited = new Map<Task, Run>();
  #sessions = new Set<WorkerId>();
  #pauses = new Set<string>();
  #answers: Remembered[] = [];
  #done: DoneKey[] = [];
  /** The caller, while the events that follow from its call are written down. */
  #by: string | undefined;

  /** `observe` gets every change as it happens, in order. */
  constructor(world: World, observe: (change: Change) => void) {
    this.#world = world;
    this.#observe = observe;
  }

  /** Whether an event must be written before work can go on. */
  get urgent(): boolean {
    return this.#urgent;
  }
  /** How many tasks there are to write. */
  get size(): number {
    return this.#tasks.size;
  }
  get empty(): boolean {
    const { length } = this.#events;
    return length + this.#requestsDone.length + this.#answers.length === 0;
  }

  /** The events that `change` adds name `by` as the caller. */
  following<T>(by: string | undefined, change: () => T): T {
    const before = this.#by;
    this.#by = by;
    try {
      return change();
    } finally {
      this.#by = before;
    }
  }

  ofRun(run: RunNo, news: RunNews, at: Instant): void {
    this.#runs.add(run);
    if (news.kind === "run_finished")
      for (const key of pausesOf(this.#world.pauses.values(), run)) this.#pauses.add(key);
    const event = { ...this.#attributed(news), seq: this.#world.seq + 1, at, run };
    this.#add(event);
    if (event.kind === "run_submitted") this.#submitted.push(event);
  }

  ofTask(run: Run, task: Task, news: TaskNews, at: Instant): void {
    if (!this.#tasks.has(task)) this.#tasks.set(task, { run, replaces: task.version });
    if (news.kind === "edited") this.#edited.set(task, run);
    if (news.kind === "succeeded") this.#done.push(...doneKeys(run, task, news.outcome));
    const recorded = news.kind !== "lease_renewed";
    const seq = this.#world.seq + (recorded ? 1 : 0);
    const version = task.version + (recorded ? 1 : 0);
    const attempt = task.attempt + (news.kind === "claimed" ? 1 : 0);
    this.#add({ ...this.#attributed(news), seq, at, run: run.no, task: task.no, version, attempt });
  }

  /** Events of the scheduler as a whole, and pauses. */
  ofSystem(news: SystemNews, at: Instant): void {
    const run = "scope" in news && "run" in news.scope ? news.scope.run : NO_RUN;
    if ("scope" in news) this.#pauses.add(scopeKey(news.scope));
    else if (news.kind !== "worker_started")
      this.#sessions.add(news.kind === "session_joined" ? news.profile.id : news.session);
    this.#add({ ...this.#attributed(news), seq: this.#world.seq + 1, at, run });
  }

  /** Keeps the answer to a key, for a repeated call. */
  remember(answer: Remembered): void {
    this.#answers.push(answer);
    this.#urgent = true;
  }

  requestDone(no: number): void {
    this.#requestsDone.push(no);
    this.#urgent = true;
  }

  learn(plan: string, durationSamples: readonly DurationSample[]): void {
    if (durationSamples.length > 0) this.#durationSamples.push({ plan, durationSamples });
  }

  /** Everything since the last call, as one batch. */
  take(epoch: Epoch): Batch {
    const tasks: TaskWrite[] = [];
    // Not by pairs: these would be as many lists again.
    this.#tasks.forEach(({ run, replaces }, task) => {
      tasks.push({ row: toTaskRow(run, task), replaces });
    });
    const batch: Batch = {
      epoch,
      events: this.#events,
      submitted: this.#submitted,
      runs: this.#changedRuns(),
      tasks,
      requestsDone: this.#requestsDone,
      durationSamples: this.#durationSamples,
      edited: Array.from(this.#edited, ([{ no, spec }, run]) => ({ run: run.no, task: no, spec })),
      sessions: Array.from(this.#sessions, (id) => ({ id, session: this.#world.sessions.get(id) })),
      pauses: Array.from(this.#pauses, (key) => ({ key, pause: this.#world.pauses.get(key) })),
      answers: this.#answers,
      done: this.#done,
    };
    [this.#events, this.#submitted, this.#requestsDone, this.#answers, this.#done] = [[], [], [], [], []];
    this.#durationSamples = [];
    this.#urgent = false;
    // New sets, not emptied ones: of a set that is emptied again and again the platform keeps all old entries until a full collection.
    this.#runs = new Set();
    this.#tasks = new Map();
    this.#edited = new Map();
    this.#sessions = new Set();
    this.#pauses = new Set();
    return batch;
  }

  /** A new run is written as it begins; only runs that have changed since need a row. */
  #changedRuns(): readonly RunRow[] {
    const rows: RunRow[] = [];
    const fresh = new Set(this.#submitted.map(({ run }) => run));
    for (const no of this.#runs) {
      const run = this.#world.run(no);
      if (run === undefined) continue;
      if (!fresh.has(no) || run.status.state !== "active" || run.cancelling) rows.push(toRunRow(run));
    }
    return rows;
  }

  #attributed<News extends RunNews | SystemNews | TaskNews>(news: News): News {
    return this.#by !== undefined && isFromCall(news.kind) ? { by: this.#by, ...news } : news;
  }

  #add(event: Event): void {
    const changes = this.#changes;
    changes.length = 0;
    reduce(this.#world, event, changes);
    this.#events.push(event);
    if (!LAZY.has(event.kind)) this.#urgent = true;
    for (const change of changes) this.#observe(change);
  }
}

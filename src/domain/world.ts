/** The state of everything, in memory: what the events so far add up to. `reduce` builds and changes it; nothing else does. */
import type { Event } from "./event.ts";
import { buildGraph, type TaskNo, taskNo } from "./graph.ts";
import type { RunId, WorkerId } from "./ids.ts";
import type { Run, RunManifest, RunNo } from "./run.ts";
import type { Session } from "./sessions/session.ts";
import type { TaskSpec } from "./spec.ts";
import type { Blocked, Status, Task, TaskState } from "./task.ts";
import type { Instant } from "./time.ts";
import type { Pause } from "./waiting/pause.ts";

/** The runs by number, and by name: there may be thousands of them. */
class Runs extends Map<RunNo, Run> {
  readonly #named = new Map<RunId, Run>();

  override set(no: RunNo, run: Run): this {
    this.#named.set(run.manifest.id, run);
    return super.set(no, run);
  }

  override delete(no: RunNo): boolean {
    const run = this.get(no);
    if (run !== undefined) this.#named.delete(run.manifest.id);
    return super.delete(no);
  }

  find(id: RunId): Run | undefined {
    return this.#named.get(id);
  }
}

export class World {
  readonly runs = new Runs();
  readonly sessions = new Map<WorkerId, Session>();
  /** Since when each worker of this machine has worked for this scheduler, once it was given a task. */
  readonly workers = new Map<WorkerId, Instant>();
  /** What is on hold, by the key of its scope. */
  readonly pauses = new Map<string, Pause>();
  /** The last event that was folded in. */
  seq = 0;

  run(no: RunNo): Run | undefined {
    return this.runs.get(no);
  }

  findRun(id: RunId): Run | undefined {
    return this.runs.find(id);
  }
}

/** One task that moved from one status to another: queues, deadlines and views follow these. */
export interface Change {
  readonly run: Run;
  readonly task: Task;
  readonly from: Status;
  readonly to: Status;
  /** What happened. */
  readonly cause: Event;
}

/** All waiting tasks share this one value, so that a million of them cost nothing. */
export const BLOCKED: Blocked = { state: "blocked" };

/** A run as it is before anything has happened to it: everything blocked. */
export function newRun(no: RunNo, manifest: RunManifest, specs: readonly TaskSpec[]): Run {
  const graph = buildGraph(specs);
  const tasks = specs.map((spec, index) => newTask(taskNo(index), spec, graph.needCount(taskNo(index))));
  const counts = NO_TASKS();
  counts.blocked = tasks.length;
  return { no, manifest, tasks, graph, status: { state: "active" }, counts, cancelling: false };
}

const newTask = (no: TaskNo, spec: TaskSpec, needs: number): Task => ({
  no,
  spec,
  status: BLOCKED,
  version: 0,
  attempt: 0,
  failures: 0,
  expiries: 0,
  unmet: needs + (spec.gate === undefined ? 0 : 1),
  approved: false,
});

const NO_TASKS = (): Record<TaskState, number> => ({
  blocked: 0,
  ready: 0,
  claimed: 0,
  running: 0,
  verifying: 0,
  succeeded: 0,
  failed: 0,
  cancelled: 0,
  skipped: 0,
  parked: 0,
});

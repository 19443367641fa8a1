/** A schedule as it was worked out: which worker does which task when, how good that is, and what it leaves unused. */
import type { TaskNo } from "../graph.ts";
import type { TaskId, WorkerId } from "../ids.ts";
import type { Instant, Millis } from "../time.ts";

/** One task in its place. */
export interface Placement {
  readonly no: TaskNo;
  readonly task: TaskId;
  readonly worker: WorkerId;
  readonly start: Instant;
  readonly end: Instant;
}

/** What no order of the tasks can be faster than, and why. */
export interface LowerBound {
  readonly ms: Millis;
  /**
   * `path`: the longest chain. `work`: all local tasks, shared out over the workers. `pool`: all tasks of a pool, shared out over its sessions.
   * `resource`: all tasks that ask for one resource.
   */
  readonly because:
    | { readonly kind: "path" }
    | { readonly kind: "work" }
    | { readonly kind: "pool"; readonly name: string }
    | { readonly kind: "resource"; readonly name: string };
}

export interface WorkerUse {
  readonly worker: WorkerId;
  /** Of a session, its pool. */
  readonly pool?: string;
  readonly tasks: number;
  readonly busy: Millis;
  /** The share of the time in which the worker works, from 0 to 1. */
  readonly use: number;
}

export interface ResourceUse {
  readonly name: string;
  /** What there is of it in all; for a rate, what one `per` brings. */
  readonly capacity: number;
  /** Only for a rate: it comes back with time. */
  readonly per?: Millis;
  /** The share of what there is over time that is taken, from 0 to 1. */
  readonly use: number;
}

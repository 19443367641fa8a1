/** Why a task is not running: what the dispatcher knows about it, as plain values that views can show. */
import type { RunId, TaskId, WorkerId } from "../ids.ts";
import type { Outcome } from "../outcome.ts";
import type { DispatchMode } from "../sessions/pool.ts";
import type { SessionState } from "../sessions/session.ts";
import type { Priority } from "../spec.ts";
import type { Asked, FailReason, ParkReason, StopReason, TaskState } from "../task.ts";
import type { Instant, Millis } from "../time.ts";

/** Every task that is neither held nor at its end waits for exactly one of these. First those that only a person can end. */
export const WAIT_REASONS = [
  "parked",
  "gate",
  "no-match",
  "paused",
  "offered",
  "backing-off",
  "backpressure",
  "shortage",
  "breaker-open",
  "same-key",
  "hazard",
  "rate-limited",
  "resources",
  "capacity",
  "needs",
] as const;
export type WaitReason = (typeof WAIT_REASONS)[number];

/** Another task, as far as it matters here. */
export interface TaskGlimpse {
  readonly task: TaskId;
  readonly state: TaskState;
  /** Since when it is in that state; a blocked task does not know. */
  readonly since?: Instant;
  readonly worker?: WorkerId;
}

/** The first few of a list, and how many there are in all. */
export interface Some<T> {
  readonly first: readonly T[];
  readonly total: number;
}

/** A resource of which less is free than the task asks for. */
export interface Shortage {
  readonly name: string;
  /** `plan`: a resource that the plan declares for itself. `machine`: a resource that all runs share. */
  readonly scope: "plan" | "machine";
  readonly asked: number;
  readonly free: number;
  readonly capacity: number;
  readonly holders: Some<Holder>;
}
/** A rate that has not filled up enough again. */
export interface RateShortage {
  readonly name: string;
  readonly asked: number;
  readonly level: number;
  readonly capacity: number;
  /** How long it takes from empty to full. */
  readonly per: Millis;
  /** When it is full enough for the task, if no other task takes from it. */
  readonly at: Instant;
}
/** The task asks for more than there is, even while no other task uses any. */
export type Excess = Omit<Shortage, "free" | "holders">;
export interface Holder extends TaskGlimpse {
  readonly amount: number;
}

export type Wait =
  | { readonly reason: "needs"; readonly blockers: Some<TaskGlimpse> }
  | { readonly reason: "gate"; readonly prompt: string }
  | { readonly reason: "paused"; readonly asked: Asked }
  | { readonly reason: "backing-off"; readonly until: Instant; readonly after: Outcome | undefined }
  | {
      readonly reason: "no-match";
      readonly missing: readonly string[];
      readonly tooMuch: readonly Excess[];
      /** For work of a pool: which, and how many sessions it has. */
      readonly pool?: string;
      readonly sessions?: number;
    }
  /** A session was woken for the task, and no other session gets it until then. */
  | { readonly reason: "offered"; readonly session: WorkerId; readonly until: Instant }
  | {
      readonly reason: "hazard";
      /** First what the waiting task wants to do, then what the holder does. */
      readonly kind: "write-write" | "read-write" | "write-read";
      readonly path: string;
      readonly holder: TaskGlimpse;
    }
  | {
      /** The queue is so full that this lane has to wait, or that only some of the workers are given work. */
      readonly reason: "backpressure";
      readonly mode: string;
      readonly queued: number;
      readonly depth: number;
      /** How many may be out at once, and how many are. */
      readonly allowed: number;
      readonly out: number;
      /** Whether the whole lane has to wait, and not only this task's turn. */
      readonly deferred: boolean;
    }
  | {
      /** The machine had no room to begin a task, so fewer run at once until it has shown that there is more. */
      readonly reason: "shortage";
      /** What the machine said. */
      readonly why: string;
      /** How many may run at once, and how many do. */
      readonly allowed: number;
      readonly out: number;
      /** Nothing is begun before. */
      readonly until?: Instant;
    }
  | {
      /** The service it depends on keeps failing and is left alone. */
      readonly reason: "breaker-open";
      readonly provider: string;
      /** In a row. */
      readonly failures: number;
      /** When it is tried again; absent while a few tasks try it out. */
      readonly until?: Instant;
    }
  /** Another task with the same idempotency key runs now, or will be tried again. */
  | { readonly reason: "same-key"; readonly key: string; readonly run: RunId; readonly holder: TaskGlimpse }
  | { readonly reason: "rate-limited"; readonly rates: readonly RateShortage[]; readonly until: Instant }
  | {
      readonly reason: "resources";
      readonly short: readonly Shortage[];
      /** There is enough, but it is reserved for a task that was passed over for too long. */
      readonly reservedFor?: TaskGlimpse;
    }
  /**
   * With idle workers it is about to be claimed. With no workers at all, no scheduler has this run. For work of a pool the workers are the
   * sessions that may take it, and an idle one takes it only when it claims.
   */
  | { readonly reason: "capacity"; readonly workers: number; readonly idle: number; readonly pool?: string }
  | { readonly reason: "parked"; readonly why: ParkReason; readonly since: Instant };

/** One condition for the start of the task, with the numbers it is judged by. */
export type DispatchGate =
  | { readonly gate: "needs"; readonly open: boolean; readonly met: number; readonly total: number }
  | { readonly gate: "approval"; readonly open: boolean; readonly prompt: string }
  | { readonly gate: "pause"; readonly open: boolean }
  | { readonly gate: "back-off"; readonly open: boolean; readonly until: Instant }
  | {
      readonly gate: "capabilities";
      readonly open: boolean;
      readonly missing: readonly string[];
      readonly total: number;
    }
  | { readonly gate: "key"; readonly open: boolean; readonly key: string }
  | { readonly gate: "files"; readonly open: boolean; readonly reads: number; readonly writes: number }
  | {
      readonly gate: "resource";
      readonly open: boolean;
      readonly name: string;
      readonly scope: "plan" | "machine";
      readonly asked: number;
      readonly free: number;
      readonly capacity: number;
    }
  | {
      readonly gate: "rate";
      readonly open: boolean;
      readonly name: string;
      readonly asked: number;
      readonly level: number;
      readonly capacity: number;
      readonly per: Millis;
    }
  | {
      readonly gate: "service";
      readonly open: boolean;
      readonly provider: string;
      readonly state: "closed" | "open" | "half-open";
      readonly failures: number;
    }
  | {
      readonly gate: "pressure";
      readonly open: boolean;
      readonly mode: string;
      readonly queued: number;
      readonly depth: number;
    }
  | { readonly gate: "reservation"; readonly open: boolean; readonly for: TaskId }
  | {
      readonly gate: "workers";
      readonly open: boolean;
      readonly idle: number;
      readonly total: number;
      /** For work of a pool: its workers are the sessions that joined. */
      readonly pool?: string;
    };

/**
 * `plan`: the plan says so. `history`: what it took in earlier runs. `observed`: what this run's tasks took so far. `typical`: what is
 * known of the others.
 */
export const ESTIMATE_SOURCES = ["plan", "history", "observed", "typical"] as const;
export interface Estimate {
  readonly ms: Millis;
  readonly source: (typeof ESTIMATE_SOURCES)[number];
}

/** When the wait is likely to end, and how that is known. Estimates are hopes; a back-off and a time-out are limits. */
export interface Unblock {
  readonly at: Instant;
  readonly from: "back-off" | "estimate" | "time-out" | "path" | "rate" | "breaker" | "offer";
}

/** The worker that holds it now. */
export interface HoldingWorker {
  readonly worker: WorkerId;
  readonly since: Instant;
  readonly deadline: Instant;
  /** When it is killed if it has not ended; known once it has started. */
  readonly timeoutAt?: Instant;
  readonly stopping?: StopReason;
}

/** A session of the pool that a task is for. */
export interface SessionThere {
  readonly session: WorkerId;
  /** `busy` also when it holds as much as it can. */
  readonly state: SessionState;
  /** Whether this session may take the task. */
  readonly suits: boolean;
  /** Whether a claim of this session waits for its answer; absent where that is not known. */
  readonly claiming?: boolean;
}

/** The pool that a task is for: what the task asks of a session, and which sessions there are. */
export interface PoolThere {
  readonly name: string;
  /** Absent where that is not known. */
  readonly mode?: DispatchMode;
  readonly requires: readonly string[];
  readonly workspace?: string;
  readonly channel?: string;
  /** The only session that may take it. */
  readonly session?: string;
  /** The sessions that may take the task come first. */
  readonly sessions: readonly SessionThere[];
}

/** What a person asked for while no scheduler was running: the next scheduler that takes up the run does it. */
export interface KeptWish {
  readonly kind: "cancel" | "approve" | "requeue";
  /** The whole run when absent. */
  readonly task?: TaskId;
  readonly asked: Asked;
  readonly at: Instant;
}

export interface Explanation {
  readonly run: RunId;
  readonly task: TaskId;
  readonly title?: string;
  readonly at: Instant;
  readonly state: TaskState;
  readonly since?: Instant;
  readonly attempt: number;
  readonly failures: number;
  readonly attemptsMax: number;
  readonly priority: Priority;
  /** The length of the longest path from here to the end of the plan: what the order inside a lane goes by. */
  readonly rank: number;
  readonly rankUnit: "ms" | "hops";
  readonly estimate?: Estimate;
  /** Its place among the ready tasks of its priority in this run, from 1. */
  readonly position?: { readonly place: number; readonly of: number };
  readonly wait?: Wait;
  /** For a task that waits for other tasks: those of its needs, near or far, that wait for no other task. */
  readonly roots?: Some<TaskGlimpse>;
  readonly gates: readonly DispatchGate[];
  /** For what waits for a session of a pool. */
  readonly pool?: PoolThere;
  /** What was asked for and has not been done yet. */
  readonly wishes?: readonly KeptWish[];
  readonly unblock?: Unblock;
  readonly holding?: HoldingWorker;
  readonly outcome?: Outcome;
  readonly failReason?: FailReason;
  /** For a cancelled task: who asked for that, where it is known. */
  readonly cancelled?: Asked;
  /** For a skipped task: the chain of skipped tasks back to the task that did not succeed, which comes last. */
  readonly because?: readonly TaskGlimpse[];
}

/** A task that remains in a run that cannot go on by itself, and what holds it back. */
export interface Blocker {
  readonly task: TaskId;
  readonly state: TaskState;
  readonly wait: Wait;
  /** For a task that waits for other tasks: the last task of that chain. */
  readonly root?: TaskGlimpse;
}

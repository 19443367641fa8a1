/** What the scheduler of pulling pools says of itself. */
import type { Instant } from "../time.ts";

/** The defaults of a cycle: how many expired leases it deals with, and the reasons that it writes down for a sweep and for a wake. */
export const SWEEP_LIMIT = 100;
export const SWEEP_REASON = "it was not heard of any more";
export const WAKE_REASON = "a task waits that this session can claim";

/** What one cycle saw and did. Tasks are named `run/task`. */
export interface CycleReport {
  readonly at: Instant;
  readonly paused: boolean;
  readonly pending: number;
  readonly active: number;
  readonly sessions: number;
  readonly recovered: readonly string[];
  readonly woken: readonly { readonly task: string; readonly session: string }[];
  readonly wakeFailures: number;
  /** Tasks that no session of the pool could take, idle or not. */
  readonly noMatch: readonly string[];
  /** Tasks that no session may claim now: they are on hold, or back off. */
  readonly unclaimable: number;
  /** Tasks for which no session was woken, because every idle session that could take them was woken for them a moment ago. */
  readonly recentlyNotified: number;
  /** Tasks for which every session that could take them is busy. */
  readonly capacity: number;
  /** The tasks of `recentlyNotified` that have waited for too long. */
  readonly cooling: number;
  readonly starved: readonly string[];
  readonly spawned: readonly string[];
  readonly parked: readonly string[];
  /** What went wrong with expired leases, and with waking sessions. `errors` has both, and everything else that went wrong. */
  readonly recoveryErrors: readonly string[];
  readonly wakeErrors: readonly string[];
  readonly errors: readonly string[];
}

/** What all cycles so far add up to. */
export interface WakeTally {
  readonly cycles: number;
  readonly rebuilds: number;
  readonly recovered: number;
  readonly recoveryErrors: number;
  readonly wakes: number;
  readonly wakeFailures: number;
  readonly noMatch: number;
  readonly unclaimable: number;
  readonly recentlyNotified: number;
  readonly starved: number;
  readonly spawned: number;
  readonly parked: number;
  readonly lastCycleAt?: Instant;
  readonly lastRebuildAt?: Instant;
  readonly lastRecoveryError?: string;
  readonly lastWakeError?: string;
  /** The last one of any kind. */
  readonly lastError?: string;
}

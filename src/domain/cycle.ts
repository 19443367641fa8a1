/** What the scheduler of pulling pools says of itself. */
import type { Instant } from "./time.ts";

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
  readonly noMatch: readonly string[];
  readonly capacity: number;
  readonly cooling: number;
  readonly starved: readonly string[];
  readonly spawned: readonly string[];
  readonly parked: readonly string[];
  readonly errors: readonly string[];
}

/** What all cycles so far add up to. */
export interface CycleTally {
  readonly cycles: number;
  readonly rebuilds: number;
  readonly recovered: number;
  readonly wakes: number;
  readonly wakeFailures: number;
  readonly noMatch: number;
  readonly starved: number;
  readonly spawned: number;
  readonly parked: number;
  readonly lastCycleAt?: Instant;
  readonly lastError?: string;
}

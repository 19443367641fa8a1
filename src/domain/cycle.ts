/** What the scheduler of pulling pools says of itself. `Time` is a moment inside, and text where it is told to others. */

/** What one cycle saw and did. Tasks are named `run/task`. */
export interface CycleReport<Time> {
  readonly at: Time;
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
export interface CycleTally<Time> {
  readonly cycles: number;
  readonly rebuilds: number;
  readonly recovered: number;
  readonly wakes: number;
  readonly wakeFailures: number;
  readonly noMatch: number;
  readonly starved: number;
  readonly spawned: number;
  readonly parked: number;
  readonly lastCycleAt?: Time;
  readonly lastError?: string;
}

/** What the engine is given: the parts that act for it, and the settings for its decisions. */
import type { DispatcherOptions } from "../decide/dispatcher-parts.ts";
import type { Policy } from "../decide/order/look-ahead.ts";
import type { PressureLimits } from "../decide/queue/pressure.ts";
import type { Run } from "../domain/run.ts";
import type { DispatchMode } from "../domain/sessions/pool.ts";
import type { Task } from "../domain/task.ts";
import type { Millis } from "../domain/time.ts";
import type { Clock } from "../effects/clock.ts";
import type { Secrets } from "../effects/random.ts";
import type { Executor } from "../execute/executor.ts";
import type { Epoch, WorkingStore } from "../store/store.ts";

export interface EngineDeps {
  readonly store: WorkingStore;
  readonly epoch: Epoch;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly executor: Executor;
  /** Where the output of the task's current attempt goes. */
  readonly logOf: (run: Run, task: Task) => string;
  readonly options: EngineOptions;
}

export interface EngineOptions extends DispatcherOptions {
  /** Whether runs that have ended are dropped from memory. A daemon does that, since it lives for long. */
  readonly forgets?: boolean;
  /** The ledger says when each worker of this machine was given its first task. */
  readonly tellsWorkers?: boolean;
  /** How long a stopped attempt has between being asked to end and being killed. */
  readonly grace?: Millis;
  readonly leaseTtl?: Millis;
  readonly heartbeat?: Millis;
  /** How long the holder of a pool's task may be silent. */
  readonly stuckAfter?: Millis;
  /** How full the queue may be before fewer tasks run at once. Without it the queue is never too full. */
  readonly pressure?: PressureLimits;
  /** How the order within a run is found; `auto` by default. */
  readonly policy?: Policy;
  /** Who begins a claim in each pool of sessions; by default the sessions. */
  readonly modes?: Readonly<Record<string, DispatchMode>>;
  /** How many tasks one turn gives out, and one batch for the store holds, at most. */
  readonly batchMax?: number;
  /** How long an assigned task waits for its start. */
  readonly ack?: Millis;
}

/**
 * How many tasks one turn starts at most, and how many may wait for the store: half of what can be held, so that one half is decided
 * while the other is being written. With less, a transaction costs more than its content; with more, other callers wait for the turn.
 */
export const batchFor = (workers: number): number => Math.min(Math.max(Math.ceil(workers / 2), 128), 256);

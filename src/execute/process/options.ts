/** What can be chosen about running processes, and what is chosen when the caller does not say. */
import { LEASE_TTL } from "../../domain/lease.ts";
import type { Priority } from "../../domain/spec.ts";
import { type Millis, seconds } from "../../domain/time.ts";

/** What becomes of running attempts when their scheduler dies: kept for one lease so that the next one can adopt them, or stopped. */
export const ORPHANS = ["keep", "stop"] as const;
export type Orphans = (typeof ORPHANS)[number];

export interface ProcessOptions {
  /** Variables of the scheduler's environment that tasks get besides the usual ones. A name may end in `*`. */
  readonly passEnv: readonly string[];
  /**
   * Niceness by priority; where the system refuses it, the task runs without. Only priorities below normal give way: a command should be as
   * fast as when a person types it.
   */
  readonly nice: Readonly<Record<Priority, number>>;
  /** Between asking a task to end and killing it, where the caller does not say: at disposal, sweeps, and after a lost scheduler. */
  readonly grace: Millis;
  /** The same for processes that a task left behind although it ended by itself. */
  readonly leftoverGrace: Millis;
  /** How long tasks run on without a scheduler before the watchdog stops them. */
  readonly lease: Millis;
  /** What becomes of tasks whose scheduler dies: kept for a lease, for the next one to adopt, or stopped at once. */
  readonly orphans: Orphans;
  /** A log that grows over this loses its middle. */
  readonly logMaxBytes: number;
}

export const PROCESS_DEFAULTS: ProcessOptions = {
  passEnv: [],
  nice: { critical: 0, high: 0, normal: 0, low: 10 },
  grace: seconds(5),
  leftoverGrace: seconds(1),
  lease: LEASE_TTL,
  orphans: "keep",
  logMaxBytes: 4 * 1024 ** 3,
};

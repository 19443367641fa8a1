/** What can be chosen about running processes, and what is chosen when nobody says. */
import { availableParallelism } from "node:os";
import { LEASE_TTL } from "../../domain/lease.ts";
import type { Priority } from "../../domain/spec.ts";
import { type Millis, seconds } from "../../domain/time.ts";
import type { Orphans } from "./messages.ts";

/** What forks: a small Perl program, where there is one and it works, or Node itself. */
export const FORKERS = ["perl", "node"] as const;

export interface ProcessOptions {
  /** Variables of the scheduler's environment that tasks get besides the usual ones. A name may end in `*`. */
  readonly passEnv: readonly string[];
  /** Niceness by priority; where the system refuses it, the task runs without. Only those below normal give way: a command should be as fast as by hand. */
  readonly nice: Readonly<Record<Priority, number>>;
  /** Between asking a task to end and killing it, where the caller does not say: at disposal, sweeps, and after a lost scheduler. */
  readonly grace: Millis;
  /** The same for processes that a task left behind although it ended by itself. */
  readonly leftoverGrace: Millis;
  /** How long tasks run on without a scheduler before their spawner stops them. */
  readonly lease: Millis;
  /** What becomes of tasks whose scheduler dies: kept for a lease, for the next one to adopt, or stopped at once. */
  readonly orphans: Orphans;
  /** A log that grows over this loses its middle. */
  readonly logMaxBytes: number;
  /** Spawners at most. A second one pays when many short tasks run; it is not started before. */
  readonly spawners: number;
  /** What forks. Node where Perl was asked for and does not work. */
  readonly forker: (typeof FORKERS)[number];
  /** Where Perl is. Debian has it there always, and most others too. */
  readonly perl: string;
}

export const PROCESS_DEFAULTS: ProcessOptions = {
  passEnv: [],
  nice: { critical: 0, high: 0, normal: 0, low: 10 },
  grace: seconds(5),
  leftoverGrace: seconds(1),
  lease: LEASE_TTL,
  orphans: "keep",
  logMaxBytes: 4 * 1024 ** 3,
  spawners: Math.min(2, availableParallelism()),
  forker: "perl",
  perl: "/usr/bin/perl",
};

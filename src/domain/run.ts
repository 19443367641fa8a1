/** One execution of a plan. */
import type { Graph, TaskNo } from "./graph.ts";
import type { RunId, TaskId } from "./ids.ts";
import { below } from "./paths.ts";
import type { Amounts, Rates, TaskSpec } from "./spec.ts";
import type { Task, TaskState } from "./task.ts";
import type { Instant } from "./time.ts";

declare const number_: unique symbol;
/** A run's number in its store: short, and in submit order. */
export type RunNo = number & { readonly [number_]: "RunNo" };
export const runNo = (raw: number): RunNo => raw as RunNo;

/** How a run ends. */
export const RUN_ENDS = ["succeeded", "failed", "cancelled"] as const;
/** Why a run cannot go on by itself: a task waits for a person, or nothing that is awaited will ever come. */
export const RUN_STALLS = ["waiting", "deadlock"] as const;
export const RUN_OUTCOMES = [...RUN_ENDS, ...RUN_STALLS] as const;
export type RunEnd = (typeof RUN_ENDS)[number];
export type RunStall = (typeof RUN_STALLS)[number];
/** How a run ended, or why it cannot go on by itself. */
export type RunOutcome = RunEnd | RunStall;

/** `stalled`: work remains that the scheduler alone cannot move. */
export type RunStatus =
  | { readonly state: "active" }
  | { readonly state: "stalled"; readonly at: Instant; readonly outcome: RunStall }
  | { readonly state: "finished"; readonly at: Instant; readonly outcome: RunEnd };

/** What is fixed about a run from the moment it is submitted. */
export interface RunManifest {
  readonly id: RunId;
  readonly name: string;
  readonly submittedAt: Instant;
  /** Where the plan came from: commands are run relative to this directory. */
  readonly directory: string;
  readonly file: string;
  /** Of the plan's text, to notice that it was changed. */
  readonly digest: string;
  /** Spreads the retries, and makes the spread repeatable. */
  readonly seed: number;
  /** Named capacities the plan declares. */
  readonly resources: Amounts;
  /** Named rates the plan declares. */
  readonly rates?: Rates;
  /** Its share among the runs it competes with; 1 when absent. */
  readonly weight?: number;
  /** The tenant it belongs to: tenants share first, then the runs of each tenant. Without one the run is a tenant by itself. */
  readonly tenant?: string;
  /** The tasks that were asked for, where the run is these and what they need, and not the whole plan. */
  readonly only?: readonly TaskId[];
  /** Tasks that an earlier run had already done. */
  readonly carried: readonly TaskNo[];
  /** The run that this one tries again. */
  readonly retryOf?: RunId;
}

/** A run in the World. Only the reducer writes to it. */
export interface Run {
  readonly no: RunNo;
  readonly manifest: RunManifest;
  readonly tasks: readonly Task[];
  readonly graph: Graph;
  status: RunStatus;
  /** How many tasks are in each state, kept as they change. */
  readonly counts: Record<TaskState, number>;
  /** A person asked for the whole run to be cancelled. */
  cancelling: boolean;
}

export const taskOf = (run: Run, no: TaskNo): Task => run.tasks[no] as Task;
export const findTask = (run: Run, id: TaskSpec["id"]): Task | undefined => {
  const no = run.graph.find(id);
  return no === undefined ? undefined : run.tasks[no];
};

/** Where the work of a task is done, from the root and without a slash at its end. */
export function directoryOf({ directory }: Pick<RunManifest, "directory">, { cwd }: Pick<TaskSpec, "cwd">): string {
  if (cwd === undefined) return directory;
  const path = below(directory, cwd);
  return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

/** Tasks that have not come to an end. */
export const remaining = ({ tasks, counts }: Run): number =>
  tasks.length - counts.succeeded - counts.failed - counts.cancelled - counts.skipped;

/** What a history has shown so far: every task as its events describe it. A second implementation, without the reducer. */
import type { TaskNo } from "../../domain/graph.ts";
import type { WorkerId } from "../../domain/ids.ts";
import type { RunManifest, RunNo } from "../../domain/run.ts";
import { type Amounts, LOCAL_POOL, poolOf, type TaskSpec } from "../../domain/spec.ts";
import { between, type Instant, later } from "../../domain/time.ts";

export const SEEN_STATES = [
  "waiting",
  "claimed",
  "running",
  "verifying",
  "parked",
  "succeeded",
  "failed",
  "cancelled",
  "skipped",
] as const;
export type SeenState = (typeof SEEN_STATES)[number];

export interface SeenTask {
  readonly no: TaskNo;
  readonly run: SeenRun;
  spec: TaskSpec;
  /** A person edited it during this history, and its earlier form is not known. */
  readonly isBlurred: boolean;
  state: SeenState;
  version: number;
  /** Claims so far: the fence of the last one. */
  attempt: number;
  failures: number;
  expiries: number;
  approved: boolean;
  notBefore: Instant;
  /** When it came back from its last attempt. */
  backAt: Instant;
  cancelAsked: boolean;
  stopping: boolean;
  worker: WorkerId | undefined;
  /** Known only where renewals are among the events. */
  deadline: Instant | undefined;
  offer: { readonly session: WorkerId; readonly until: Instant } | undefined;
  /** What it took when it was claimed. */
  taken: Amounts;
}

export interface SeenRun {
  readonly no: RunNo;
  readonly manifest: RunManifest;
  readonly tasks: SeenTask[];
  readonly byId: ReadonlyMap<string, SeenTask>;
  /** Which tasks wait for each task, in whatever way. */
  readonly dependents: ReadonlyMap<SeenTask, readonly SeenTask[]>;
  state: "active" | "stalled" | "finished";
  cancelling: boolean;
}

/** The clock was set back: a task that backs off does so for its whole span again, from now on. */
export function countFromNow(task: SeenTask, now: Instant): void {
  if (task.backAt <= now) return;
  task.notBefore = later(now, between(task.backAt, task.notBefore));
  task.backAt = now;
}

/** A worker works on it. */
export const isWorking = ({ state }: SeenTask): boolean => state === "claimed" || state === "running";
export const isHeld = (task: SeenTask): boolean => isWorking(task) || task.state === "verifying";
/** Whether a session holds it. A session is only ever late; a worker of the scheduler may be known to be gone. */
export const isOfSession = ({ state, spec }: SeenTask): boolean => state !== "verifying" && poolOf(spec) !== LOCAL_POOL;
const ENDS: ReadonlySet<SeenState> = new Set<SeenState>(["succeeded", "failed", "cancelled", "skipped"]);
export const isEnded = ({ state }: SeenTask): boolean => ENDS.has(state);
export const nameOf = ({ run, spec }: SeenTask): string => `${run.manifest.id}/${spec.id}`;

/** A plan as it was submitted, or as it is now. */
export interface SubmittedPlan {
  readonly manifest: RunManifest;
  readonly specs: readonly TaskSpec[];
}

export function seenRun(no: RunNo, { manifest, specs }: SubmittedPlan, blurred: ReadonlySet<string>): SeenRun {
  const tasks: SeenTask[] = [];
  const byId = new Map<string, SeenTask>();
  const dependents = new Map<SeenTask, SeenTask[]>();
  const run: SeenRun = { no, manifest, tasks, byId, dependents, state: "active", cancelling: false };
  specs.forEach((spec, at) => {
    const task = seenTask(run, at as TaskNo, spec, blurred.has(`${no}/${at}`));
    tasks.push(task);
    byId.set(spec.id, task);
    dependents.set(task, []);
  });
  for (const task of tasks) {
    for (const id of [...task.spec.needs, ...task.spec.after]) {
      const need = byId.get(id);
      if (need !== undefined) dependents.get(need)?.push(task);
    }
  }
  for (const carried of manifest.carried) (tasks[carried] as SeenTask).state = "succeeded";
  return run;
}

const seenTask = (run: SeenRun, no: TaskNo, spec: TaskSpec, isBlurred: boolean): SeenTask => ({
  no,
  run,
  spec,
  isBlurred,
  state: "waiting",
  version: 0,
  attempt: 0,
  failures: 0,
  expiries: 0,
  approved: false,
  notBefore: 0 as Instant,
  backAt: 0 as Instant,
  cancelAsked: false,
  stopping: false,
  worker: undefined,
  deadline: undefined,
  offer: undefined,
  taken: {},
});

/** How long tasks are likely to take: what the plan says, else what this run has shown, else what the plan says of other tasks. */

import { type TaskNo, taskNo } from "../graph.ts";
import type { Run } from "../run.ts";
import type { TaskSpec } from "../spec.ts";
import { isTerminal, type Task } from "../task.ts";
import { type Instant, later, type Millis, millis } from "../time.ts";
import type { Estimate } from "../waiting/explanation.ts";
import type { DurationRecord } from "./history.ts";

interface Known {
  readonly ms: Millis;
  readonly source: "plan" | "history";
}

/** What is known of one task. The plan is believed before the record of earlier runs; a task without either is judged by the others. */
export function knownDuration(
  spec: TaskSpec,
  recorded?: (spec: TaskSpec) => DurationRecord | undefined,
): Known | undefined {
  if (spec.estimate !== undefined) return { ms: spec.estimate, source: "plan" };
  const record = recorded?.(spec);
  return record === undefined ? undefined : { ms: millis(Math.exp(record.meanLog)), source: "history" };
}

/** Looks over the run once, and then answers for each of its tasks. Nothing when no task has an estimate and none has ended. */
export function estimatesOf(run: Run): (task: Task) => Estimate | undefined {
  const observed = mean(run.tasks, ({ status, attempt }) =>
    status.state === "succeeded" && attempt > 0 ? status.outcome.durationMs : undefined,
  );
  const typical = observed ?? mean(run.tasks, ({ spec }) => spec.estimate);
  const other: Estimate | undefined =
    typical === undefined ? undefined : { ms: typical, source: observed === undefined ? "typical" : "observed" };
  return ({ spec }) => knownDuration(spec) ?? other;
}

function mean(tasks: readonly Task[], of: (task: Task) => Millis | undefined): Millis | undefined {
  let sum = 0;
  let count = 0;
  for (const task of tasks) {
    const value = of(task);
    if (value === undefined) continue;
    sum += value;
    count++;
  }
  return count === 0 ? undefined : millis(sum / count);
}

/** When a running task is likely to end: at its estimate while that is still ahead, else when its time-out ends it. */
export function expectedEnd(
  task: Task,
  estimate: Estimate | undefined,
  now: Instant,
): { readonly at: Instant; readonly from: "estimate" | "time-out" } | undefined {
  const { status, spec } = task;
  if (status.state !== "running" && status.state !== "claimed") return undefined;
  const hoped = estimate === undefined ? undefined : later(status.since, estimate.ms);
  if (hoped !== undefined && hoped > now) return { at: hoped, from: "estimate" };
  return status.state === "running" ? { at: later(status.since, spec.timeout.hard), from: "time-out" } : undefined;
}

/** How much longer a run is likely to take. It can be no shorter than either figure, and a good order comes close to the larger. */
export interface Forecast {
  readonly remainingMs: Millis;
  /** The longest chain of tasks that must still follow each other. */
  readonly pathMs: Millis;
  /** All that is still to do, shared out evenly. */
  readonly workMs: Millis;
}

/** Nothing when no task has an estimate and none has ended. Costs a walk over the graph: ask once a second, not once a frame. */
export function forecast(run: Run, workers: number, now: Instant): Forecast | undefined {
  const estimate = estimatesOf(run);
  const costs = new Float64Array(run.tasks.length);
  let work = 0;
  for (const task of run.tasks) {
    const left = remainingCost(task, estimate(task), now);
    if (left === undefined) return undefined;
    costs[task.no] = left + backOffLeft(task, now);
    work += left;
  }
  const pathMs = millis(longestPath(run, costs));
  const workMs = millis(work / Math.max(1, workers));
  return { remainingMs: millis(Math.max(pathMs, workMs)), pathMs, workMs };
}

/** A back-off takes time, and no worker's. */
const backOffLeft = ({ status }: Task, now: Instant): number =>
  status.state === "ready" ? Math.max(0, status.notBefore - now) : 0;

/** What a task is still likely to need, of a worker's time. */
export function remainingCost(task: Task, estimate: Estimate | undefined, now: Instant): number | undefined {
  const { status } = task;
  if (isTerminal(status.state) || status.state === "parked") return 0;
  if (estimate === undefined) return undefined;
  return status.state === "running" ? Math.max(0, status.since + estimate.ms - now) : estimate.ms;
}

function longestPath({ graph }: Run, costs: Float64Array): number {
  const open = new Int32Array(graph.size);
  const reach = new Float64Array(graph.size);
  const queue: TaskNo[] = [];
  for (let no = 0; no < graph.size; no++) {
    open[no] = graph.needCount(taskNo(no));
    if (open[no] === 0) queue.push(taskNo(no));
  }
  let longest = 0;
  // From the tasks without needs to the ends: when a task is taken, everything before it has its reach.
  for (let head = 0; head < queue.length; head++) {
    const no = queue[head] as TaskNo;
    const end = (reach[no] as number) + (costs[no] as number);
    if (end > longest) longest = end;
    graph.eachDependent(no, (dependent) => {
      if (end > (reach[dependent] as number)) reach[dependent] = end;
      open[dependent] = (open[dependent] as number) - 1;
      if (open[dependent] === 0) queue.push(dependent);
    });
  }
  return longest;
}

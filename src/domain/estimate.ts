/** How long things are likely to take: what the plan says, else what this run has shown, else what the plan says of others. */
import type { Estimate } from "./explanation.ts";
import { type TaskNo, taskNo } from "./graph.ts";
import { type Run, taskOf } from "./run.ts";
import { isTerminal, type Task } from "./task.ts";
import { type Instant, later, type Millis, millis } from "./time.ts";

/** Looks over the run once, and then answers for each of its tasks. Nothing when there is nothing to go by. */
export function estimatesOf(run: Run): (task: Task) => Estimate | undefined {
  const observed = mean(run.tasks, ({ status, attempt }) =>
    status.state === "succeeded" && attempt > 0 ? status.outcome.durationMs : undefined,
  );
  const typical = observed ?? mean(run.tasks, ({ spec }) => spec.estimate);
  const other: Estimate | undefined =
    typical === undefined ? undefined : { ms: typical, source: observed === undefined ? "typical" : "observed" };
  return ({ spec }) => (spec.estimate === undefined ? other : { ms: spec.estimate, source: "plan" });
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

/** When a running task is likely to end: by its estimate while that is not past, else when its time-out ends it. */
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
    costs[task.no] = left;
    work += left;
  }
  const pathMs = millis(longestPath(run, costs));
  const workMs = millis(work / Math.max(1, workers));
  return { remainingMs: millis(Math.max(pathMs, workMs)), pathMs, workMs };
}

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
  // From the beginning to the ends: when a task is taken, everything before it has its reach.
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

/** One link of what a run's length hung on. */
export interface Link {
  readonly task: TaskNo;
  readonly at: Instant;
  readonly durationMs: Millis;
}

/** A task that begins within this of another's end is taken to have begun because of it: starting takes a moment. */
const AT_ONCE = millis(100);

/**
 * The chain that decided when the run ended, first link first: from what ended last, back to whose end let each link begin.
 * That is the last of its needs, or, when it still had to wait after that, whoever made room for it: a worker, files, a resource.
 */
export function realizedPath(run: Run): readonly Link[] {
  const ends = run.tasks.flatMap((task) => linkOf(task) ?? []).sort((a, b) => a.at - b.at || a.task - b.task);
  const path = new Map<TaskNo, Link>();
  // A clock that was set back can make two ends look as if each came before the other: no task is met twice.
  for (let link = ends.at(-1); link !== undefined && !path.has(link.task); link = linkBefore(run, link, ends)) {
    path.set(link.task, link);
  }
  return [...path.values()].reverse();
}

/** Only what really ran counts. */
function linkOf({ no, status, attempt }: Task): Link | undefined {
  if ((status.state !== "succeeded" && status.state !== "failed") || attempt === 0) return undefined;
  return { task: no, at: status.at, durationMs: status.outcome.durationMs };
}

function linkBefore(run: Run, link: Link, ends: readonly Link[]): Link | undefined {
  let need: Link | undefined;
  run.graph.eachNeed(link.task, (no) => {
    const other = linkOf(taskOf(run, no));
    if (other !== undefined && (need === undefined || other.at > need.at)) need = other;
  });
  const begin = link.at - link.durationMs;
  const waited = begin - (need?.at ?? run.manifest.submittedAt);
  // A second attempt begins when its back-off is over, which nobody's end decides.
  if (taskOf(run, link.task).attempt > 1 || waited <= AT_ONCE) return need;
  const other = lastBefore(ends, begin);
  // It must account for most of the wait, or it only happened to end meanwhile.
  return other !== undefined && begin - other.at <= Math.max(AT_ONCE, waited / 4) ? other : need;
}

/** The last link that ended by this moment, found by halves: `ends` is in order. */
function lastBefore(ends: readonly Link[], moment: number): Link | undefined {
  let low = 0;
  let high = ends.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((ends[middle] as Link).at <= moment) low = middle + 1;
    else high = middle;
  }
  return ends[low - 1];
}

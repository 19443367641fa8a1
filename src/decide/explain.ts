/** Says why a task is not running, by asking what the dispatcher asks and in the same order. */
import { estimatesOf } from "../domain/estimate.ts";
import type { Blocker, Explanation, Gate, Shortage, Some, TaskGlimpse, Wait } from "../domain/explanation.ts";
import type { TaskNo } from "../domain/graph.ts";
import type { Outcome } from "../domain/outcome.ts";
import { type Run, remaining, taskOf } from "../domain/run.ts";
import { type Asked, isHeld, type Status, type Task } from "../domain/task.ts";
import { type Instant, later } from "../domain/time.ts";
import { unreachable } from "../std/invariant.ts";
import type { Dispatcher } from "./dispatcher.ts";
import { isHeldBackByNeeds, rootOf, rootsOf, unmetNeeds } from "./needs.ts";
import { fits, type Pot } from "./room.ts";
import type { Shape } from "./shapes.ts";
import { expectedUnblock } from "./unblock.ts";

/** What neither the World nor the dispatcher keeps. */
export interface ExplainContext {
  /** Who asked for nothing more to be started. */
  readonly paused?: Asked;
  /** How the task's last attempt ended, from the ledger. */
  readonly lastOutcome?: Outcome;
}

/** Lists are cut to this many, and say how many there are. */
const LISTED_MAX = 5;

/** Everything there is to know about one task. Walks over the run, so it is for one question, not for every task. */
export function explain(
  dispatcher: Dispatcher,
  run: Run,
  task: Task,
  now: Instant,
  context: ExplainContext = {},
): Explanation {
  const { spec, status } = task;
  const estimate = estimatesOf(run)(task);
  const wait = waitsOf(dispatcher, run, now, context)(task);
  const unblock = wait === undefined ? undefined : expectedUnblock(dispatcher, run, task, wait, now);
  const waits = status.state === "blocked" || status.state === "ready";
  return {
    run: run.manifest.id,
    task: spec.id,
    at: now,
    state: status.state,
    attempt: task.attempt,
    failures: task.failures,
    attemptsMax: spec.retry.attempts,
    priority: spec.priority,
    rank: dispatcher.rank(run, task),
    rankUnit: run.tasks.some((each) => each.spec.estimate !== undefined) ? "ms" : "hops",
    gates: waits ? gatesOf(dispatcher, run, task, now, context) : [],
    ...sinceOf(status),
    ...(spec.title !== undefined && { title: spec.title }),
    ...(estimate !== undefined && { estimate }),
    ...(wait !== undefined && { wait }),
    ...(wait?.reason === "needs" && { roots: some(rootsOf(run, task), (no) => glimpse(taskOf(run, no))) }),
    ...(unblock !== undefined && { unblock }),
    ...(status.state === "ready" && status.notBefore <= now && { position: positionOf(dispatcher, run, task, now) }),
    ...endOf(run, status),
    ...(isHeld(status) && {
      holding: {
        worker: status.lease.worker,
        since: status.since,
        deadline: status.lease.deadline,
        ...(status.state === "running" && { timeoutAt: later(status.since, spec.timeout.hard) }),
        ...(status.stopping !== undefined && { stopping: status.stopping }),
      },
    }),
  };
}

/**
 * Answers for any task of the run, as it is at one moment: the one reason why it is not running, or nothing when it is held or
 * at its end. Each answer costs the task's own edges; what tasks of one shape share is looked up once.
 */
export function waitsOf(
  dispatcher: Dispatcher,
  run: Run,
  now: Instant,
  context: ExplainContext = {},
): (task: Task) => Wait | undefined {
  const shortages = new Map<Shape, readonly Shortage[]>();
  const shortagesOf = (shape: Shape): readonly Shortage[] => {
    const known = shortages.get(shape) ?? findShortages(dispatcher, run, shape);
    shortages.set(shape, known);
    return known;
  };
  return (task) => {
    const { status } = task;
    switch (status.state) {
      case "blocked":
        return isHeldBackByNeeds(task)
          ? { reason: "needs", blockers: some(unmetNeeds(run, task), (no) => glimpse(taskOf(run, no))) }
          : { reason: "gate", prompt: task.spec.gate ?? "" };
      case "parked":
        return { reason: "parked", why: status.reason, since: status.at };
      case "ready":
        if (context.paused !== undefined) return { reason: "paused", asked: context.paused };
        if (status.notBefore > now)
          return { reason: "backing-off", until: status.notBefore, after: context.lastOutcome };
        return dispatchWait(dispatcher, run, task, shortagesOf, now);
      case "claimed":
      case "running":
      case "succeeded":
      case "failed":
      case "cancelled":
      case "skipped":
        return undefined;
      default:
        return unreachable(status);
    }
  };
}

/** For every task that remains, what holds it back: the report of a run that cannot go on by itself. */
export function blockers(
  dispatcher: Dispatcher,
  run: Run,
  now: Instant,
  context: ExplainContext = {},
): readonly Blocker[] {
  if (remaining(run) === 0) return [];
  const waitOf = waitsOf(dispatcher, run, now, context);
  const roots = new Map<TaskNo, TaskNo>();
  const found: Blocker[] = [];
  for (const task of run.tasks) {
    const wait = waitOf(task);
    if (wait === undefined) continue;
    const root = wait.reason === "needs" ? { root: glimpse(taskOf(run, rootOf(run, task, roots))) } : {};
    found.push({ task: task.spec.id, state: task.status.state, wait, ...root });
  }
  return found;
}

/** From what can never be to what is only so now; a missing worker comes last, since it is everybody's reason. */
function dispatchWait(
  dispatcher: Dispatcher,
  run: Run,
  task: Task,
  shortagesOf: (shape: Shape) => readonly Shortage[],
  now: Instant,
): Wait {
  const shape = dispatcher.shapeOf(run, task);
  const { draws, requires } = shape;
  const missing = dispatcher.missing(requires);
  const tooMuch = draws.filter(({ pot, amount }) => amount > pot.capacity);
  if (missing.length > 0 || tooMuch.length > 0) {
    const asked = tooMuch.map(({ pot, amount }) => ({
      ...named(run, pot.name),
      asked: amount,
      capacity: pot.capacity,
    }));
    return { reason: "no-match", missing, tooMuch: asked };
  }
  const hazard = dispatcher.hazard(run, task);
  if (hazard !== undefined) {
    const { kind, path, holder } = hazard;
    return { reason: "hazard", kind, path: withinPlan(run, path), holder: glimpse(holder) };
  }
  if (!fits(draws, now)) return { reason: "resources", short: shortagesOf(shape) };
  return { reason: "capacity", workers: dispatcher.workers, idle: dispatcher.idle };
}

function findShortages(dispatcher: Dispatcher, run: Run, { draws }: Shape): readonly Shortage[] {
  const short = draws.filter(({ pot, amount }) => amount > pot.free);
  return short.map(({ pot, amount }) => ({
    ...named(run, pot.name),
    asked: amount,
    free: pot.free,
    capacity: pot.capacity,
    holders: some(holdersOf(dispatcher, pot), (holder) => ({ ...glimpse(holder.task), amount: holder.amount })),
  }));
}

/** Who has taken of a pot, and how much. */
function holdersOf(dispatcher: Dispatcher, pot: Pot): { readonly task: Task; readonly amount: number }[] {
  return [...dispatcher.held()].flatMap(({ run, task }) =>
    dispatcher
      .shapeOf(run, task)
      .draws.filter((draw) => draw.pot === pot)
      .map(({ amount }) => ({ task, amount })),
  );
}

/** What a plan declares for itself is kept under the run's number. */
function named({ no }: Run, pot: string): { readonly name: string; readonly scope: "plan" | "machine" } {
  const own = `${no}:`;
  return pot.startsWith(own) ? { name: pot.slice(own.length), scope: "plan" } : { name: pot, scope: "machine" };
}

const withinPlan = ({ manifest }: Run, path: string): string =>
  path.startsWith(`${manifest.directory}/`) ? path.slice(manifest.directory.length + 1) : path;

/** Everything that is checked before a claim, whether or not it stands in the way. */
function gatesOf(dispatcher: Dispatcher, run: Run, task: Task, now: Instant, context: ExplainContext): readonly Gate[] {
  const { spec, status } = task;
  const { draws, requires } = dispatcher.shapeOf(run, task);
  const missing = dispatcher.missing(requires);
  const gates: Gate[] = [];
  const total = run.graph.needCount(task.no);
  const unmet = unmetNeeds(run, task).length;
  if (total > 0) gates.push({ gate: "needs", open: unmet === 0, met: total - unmet, total });
  if (spec.gate !== undefined) gates.push({ gate: "approval", open: task.approved, prompt: spec.gate });
  if (context.paused !== undefined) gates.push({ gate: "pause", open: false });
  if (status.state === "ready" && status.notBefore > status.since) {
    gates.push({ gate: "back-off", open: status.notBefore <= now, until: status.notBefore });
  }
  if (requires.length > 0) {
    gates.push({ gate: "capabilities", open: missing.length === 0, missing, total: requires.length });
  }
  if (spec.reads.length + spec.writes.length > 0) {
    const open = dispatcher.hazard(run, task) === undefined;
    gates.push({ gate: "files", open, reads: spec.reads.length, writes: spec.writes.length });
  }
  for (const { pot, amount } of draws) {
    const { free, capacity } = pot;
    gates.push({ gate: "resource", open: amount <= free, ...named(run, pot.name), asked: amount, free, capacity });
  }
  gates.push({ gate: "workers", open: dispatcher.idle > 0, idle: dispatcher.idle, total: dispatcher.workers });
  return gates;
}

function positionOf(dispatcher: Dispatcher, run: Run, task: Task, now: Instant): { place: number; of: number } {
  const rank = dispatcher.rank(run, task);
  let place = 1;
  let of = 0;
  for (const other of run.tasks) {
    const { status, spec } = other;
    if (status.state !== "ready" || status.notBefore > now || spec.priority !== task.spec.priority) continue;
    of++;
    const otherRank = dispatcher.rank(run, other);
    if (otherRank > rank || (otherRank === rank && other.no < task.no)) place++;
  }
  return { place, of };
}

/** How it ended, for those that have. */
function endOf(run: Run, status: Status): Pick<Explanation, "outcome" | "failReason" | "because"> {
  if (status.state === "failed") return { outcome: status.outcome, failReason: status.reason };
  if (status.state === "succeeded") return { outcome: status.outcome };
  return status.state === "skipped" ? { because: chainOf(run, status.because) } : {};
}

function chainOf(run: Run, from: TaskNo): readonly TaskGlimpse[] {
  const chain: Task[] = [];
  for (let next: TaskNo | undefined = from; next !== undefined; ) {
    const task = taskOf(run, next);
    chain.push(task);
    next = task.status.state === "skipped" ? task.status.because : undefined;
  }
  return chain.slice(-LISTED_MAX).map(glimpse);
}

const glimpse = ({ spec, status }: Task): TaskGlimpse => ({
  task: spec.id,
  state: status.state,
  ...sinceOf(status),
  ...(isHeld(status) && { worker: status.lease.worker }),
});

function sinceOf(status: Status): { readonly since?: Instant } {
  if ("at" in status) return { since: status.at };
  return "since" in status ? { since: status.since } : {};
}

const some = <A, B>(all: readonly A[], as: (each: A) => B): Some<B> => ({
  first: all.slice(0, LISTED_MAX).map(as),
  total: all.length,
});

/** Says why a task is not running, by asking what the dispatcher asks and in the same order. */

import type { TaskNo } from "../../domain/graph.ts";
import { type Run, remaining, taskOf } from "../../domain/run.ts";
import type { Session } from "../../domain/sessions/session.ts";
import { poolOf } from "../../domain/spec.ts";
import { isHeld, type Status, type Task } from "../../domain/task.ts";
import { type Instant, later, millis } from "../../domain/time.ts";
import type {
  Blocker,
  DispatchGate,
  Explanation,
  PoolThere,
  TaskGlimpse,
  Wait,
  WaitReason,
} from "../../domain/waiting/explanation.ts";
import type { Dispatcher } from "../dispatcher.ts";
import { fits, freeAt } from "../room/room.ts";
import type { Shape } from "../room/shapes.ts";
import { misfitOf } from "../roster.ts";
import { type Eligibility, type ExplainContext, eligible, judge, type Lines, named, type Reason } from "./eligible.ts";
import { expectations } from "./expectations.ts";
import { glimpse, LISTED_MAX, sinceOf, some } from "./glimpse.ts";
import { rootOf, rootsOf, unmetNeeds } from "./needs.ts";
import { expectedUnblock } from "./unblock.ts";

/** All that is known about one task. Walks over the run, so it is for one question, not for every task. */
export function explain(lines: Lines, run: Run, task: Task, now: Instant, context: ExplainContext = {}): Explanation {
  const dispatcher = lines.of(task);
  const { spec, status } = task;
  const estimate = expectations(dispatcher, run)(task);
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
    rank: Math.round(dispatcher.runs.rank(run, task)),
    rankUnit: dispatcher.runs.estimates(run)?.known ? "ms" : "hops",
    gates: waits ? gatesOf(dispatcher, run, task, now, context) : [],
    ...sinceOf(status),
    ...(spec.title !== undefined && { title: spec.title }),
    ...(estimate !== undefined && { estimate }),
    ...(wait !== undefined && { wait }),
    ...(wait?.reason === "needs" && { roots: some(rootsOf(run, task), (no) => glimpse(taskOf(run, no))) }),
    ...(unblock !== undefined && { unblock }),
    ...(wait !== undefined && isForSession(wait) && { pool: poolOfTask(dispatcher, task, context) }),
    ...(status.state === "ready" && status.notBefore <= now && { position: positionOf(dispatcher, run, task, now) }),
    ...endOf(run, status),
    ...(isHeld(status) && {
      holding: {
        worker: status.lease.worker,
        since: status.since,
        deadline: status.lease.deadline,
        ...(status.state !== "claimed" && { timeoutAt: later(status.since, spec.timeout.hard) }),
        ...(status.stopping !== undefined && { stopping: status.stopping }),
      },
    }),
  };
}

/**
 * Answers for any task of the run, as it is at one moment: the one reason why it is not running, or nothing when it is held or
 * has ended. Each answer costs the task's own edges; what tasks of one shape share is looked up once.
 */
export function waitsOf(
  lines: Lines,
  run: Run,
  now: Instant,
  context: ExplainContext = {},
): (task: Task) => Wait | undefined {
  const judged = judge(lines, now, context);
  const crews = new Map<Shape, Wait>();
  return (task) => waitFrom(judged(run, task), () => turnOf(lines.of(task), run, task, crews));
}

function waitFrom(eligibility: Eligibility, turn: () => Wait): Wait | undefined {
  if (eligibility.ok) return turn();
  const [first] = eligibility.reasons;
  return first.reason === "state" ? undefined : first;
}

/** A task that may go waits only for its turn, or for a session to claim it. */
function turnOf(dispatcher: Dispatcher, run: Run, task: Task, crews: Map<Shape, Wait>): Wait {
  const { roster, workers, idle } = dispatcher;
  if (roster === undefined) return { reason: "capacity", workers, idle };
  const shape = dispatcher.runs.shapeOf(run, task);
  const known = crews.get(shape);
  if (known !== undefined) return known;
  const suited = [...roster.suited(task.spec)];
  const free = suited.filter((session) => stateOf(session, dispatcher) === "idle").length;
  const wait: Wait = { reason: "capacity", workers: suited.length, idle: free, pool: poolOf(task.spec) };
  crews.set(shape, wait);
  return wait;
}

const isForSession = (wait: Wait): boolean =>
  (wait.reason === "capacity" || wait.reason === "no-match") && wait.pool !== undefined;

function poolOfTask(dispatcher: Dispatcher, { spec }: Task, { claiming, modeOf }: ExplainContext): PoolThere {
  const { requires, workspace, channel, session } = spec;
  const name = poolOf(spec);
  const sessions = Array.from(dispatcher.roster?.values() ?? [], (each) => ({
    session: each.profile.id,
    state: stateOf(each, dispatcher),
    suits: misfitOf(each.profile, spec) === undefined,
    ...(claiming && { claiming: claiming.has(each.profile.id) }),
  }));
  return {
    name,
    ...(modeOf && { mode: modeOf(name) }),
    requires,
    ...(workspace !== undefined && { workspace }),
    ...(channel !== undefined && { channel }),
    ...(session !== undefined && { session }),
    sessions: sessions.sort((a, b) => Number(b.suits) - Number(a.suits)),
  };
}

/** A session that holds as many tasks as it can is busy, whatever it said last. */
const stateOf = ({ profile, state }: Session, dispatcher: Dispatcher): Session["state"] =>
  state === "idle" && !dispatcher.isIdle(profile.id) ? "busy" : state;

/** For every task that remains, what holds it back: the report of a run that cannot go on by itself. */
export function blockers(lines: Lines, run: Run, now: Instant, context: ExplainContext = {}): readonly Blocker[] {
  if (remaining(run) === 0) return [];
  const waitOf = waitsOf(lines, run, now, context);
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

/** Everything that is checked before a claim, whether or not it stands in the way. */
function gatesOf(
  dispatcher: Dispatcher,
  run: Run,
  task: Task,
  now: Instant,
  context: ExplainContext,
): readonly DispatchGate[] {
  const eligibility = eligible(dispatcher, run, task, undefined, now, context);
  const reasons = eligibility.ok ? [] : eligibility.reasons;
  const isOpen = (reason: WaitReason): boolean => reasons.every((each) => each.reason !== reason);
  return [
    ...ownGates(dispatcher, run, task, now, context),
    ...pressureGate(dispatcher, isOpen),
    ...serviceGate(dispatcher, run, task, isOpen),
    ...workGates(dispatcher, run, task, now),
    ...reservationGate(dispatcher, task, reasons, now),
    workersGate(dispatcher, task),
  ];
}

/** Of a pool's sessions only those that may take the task count as idle. */
function workersGate(dispatcher: Dispatcher, { spec }: Task): DispatchGate {
  const { roster, workers, idle } = dispatcher;
  if (roster === undefined) return { gate: "workers", open: idle > 0, idle, total: workers };
  const free = [...roster.suited(spec)].filter((session) => stateOf(session, dispatcher) === "idle").length;
  return { gate: "workers", open: free > 0, idle: free, total: roster.size, pool: poolOf(spec) };
}

function ownGates(
  dispatcher: Dispatcher,
  run: Run,
  task: Task,
  now: Instant,
  context: ExplainContext,
): readonly DispatchGate[] {
  const { spec, status } = task;
  const gates: DispatchGate[] = [];
  const total = run.graph.needCount(task.no);
  const unmet = unmetNeeds(run, task).length;
  if (total > 0) gates.push({ gate: "needs", open: unmet === 0, met: total - unmet, total });
  if (spec.gate !== undefined) gates.push({ gate: "approval", open: task.approved, prompt: spec.gate });
  if (context.paused !== undefined || dispatcher.ready.pauseOf(run, task) !== undefined)
    gates.push({ gate: "pause", open: false });
  if (status.state === "ready" && status.notBefore > status.since) {
    gates.push({ gate: "back-off", open: status.notBefore <= now, until: status.notBefore });
  }
  return gates;
}

function pressureGate({ pressure }: Dispatcher, isOpen: (reason: WaitReason) => boolean): readonly DispatchGate[] {
  if (!Number.isFinite(pressure.depth)) return [];
  return [{ gate: "pressure", open: isOpen("backpressure"), ...pressure }];
}

function serviceGate(
  dispatcher: Dispatcher,
  run: Run,
  task: Task,
  isOpen: (reason: WaitReason) => boolean,
): readonly DispatchGate[] {
  const { provider } = dispatcher.runs.shapeOf(run, task);
  if (provider === undefined) return [];
  const { state, failures } = dispatcher.breakers.of(provider);
  return [{ gate: "service", open: isOpen("breaker-open"), provider, state, failures }];
}

/** Capabilities, its key, files, rates and resources. */
function workGates(dispatcher: Dispatcher, run: Run, task: Task, now: Instant): readonly DispatchGate[] {
  const { spec } = task;
  const { own, placements, tooMuch, requires } = dispatcher.runs.shapeOf(run, task);
  const missing = dispatcher.missing(requires);
  const gates: DispatchGate[] = [];
  if (requires.length > 0) {
    gates.push({ gate: "capabilities", open: missing.length === 0, missing, total: requires.length });
  }
  if (spec.idempotencyKey !== undefined) {
    gates.push({ gate: "key", open: dispatcher.keys.holder(task) === undefined, key: spec.idempotencyKey });
  }
  if (spec.reads.length + spec.writes.length > 0) {
    const open = dispatcher.hazard(run, task, now) === undefined;
    gates.push({ gate: "files", open, reads: spec.reads.length, writes: spec.writes.length });
  }
  const there = placements.find(({ demands }) => fits(demands, now)) ?? placements[0];
  for (const { resource, amount } of [...own, ...(there?.demands ?? tooMuch)]) {
    const { capacity, refill } = resource;
    const level = freeAt(resource, now);
    const { name, scope } = named(run, resource.name);
    if (refill === undefined) {
      gates.push({ gate: "resource", open: amount <= level, name, scope, asked: amount, free: level, capacity });
    } else {
      gates.push({
        gate: "rate",
        open: amount <= level,
        name,
        asked: amount,
        level,
        capacity,
        per: millis(capacity / refill),
      });
    }
  }
  return gates;
}

function reservationGate(
  dispatcher: Dispatcher,
  task: Task,
  reasons: readonly Reason[],
  now: Instant,
): readonly DispatchGate[] {
  const reserved = dispatcher.reservation.current(now)?.task;
  if (reserved === undefined || reserved === task) return [];
  const inTheWay = (each: Reason): boolean =>
    (each.reason === "resources" && each.reservedFor !== undefined) ||
    (each.reason === "hazard" && each.holder.task === reserved.spec.id);
  return [{ gate: "reservation", open: !reasons.some(inTheWay), for: reserved.spec.id }];
}

function positionOf(dispatcher: Dispatcher, run: Run, task: Task, now: Instant): { place: number; of: number } {
  const rank = dispatcher.runs.rank(run, task);
  let place = 1;
  let of = 0;
  for (const other of run.tasks) {
    const { status, spec } = other;
    if (status.state !== "ready" || status.notBefore > now || spec.priority !== task.spec.priority) continue;
    of++;
    const otherRank = dispatcher.runs.rank(run, other);
    if (otherRank > rank || (otherRank === rank && other.no < task.no)) place++;
  }
  return { place, of };
}

/** How the task ended, if it has. */
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

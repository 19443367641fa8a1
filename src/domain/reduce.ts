/**
 * The one reducer. It builds the World from events, checks a replayed ledger against the tables, drives the simulator and
 * feeds the views. The same events in the same order always give the same World.
 */
import { broken, invariant, unreachable } from "../std/invariant.ts";
import { type Event, isSystemEvent, type RunEvent, type SystemEvent, type TaskEvent } from "./event.ts";
import { NO_TOKEN } from "./lease.ts";
import { isTaken } from "./outcome.ts";
import { type Run, taskOf } from "./run.ts";
import { type Ended, type Held, isHeld, isTerminal, type Status, type Task, type Verifying } from "./task.ts";
import { between, type Instant, later, millis } from "./time.ts";
import { isGateClosed, isMet } from "./waiting/needs.ts";
import { pausesOf, scopeKey } from "./waiting/pause.ts";
import { BLOCKED, type Change, newRun, type World } from "./world.ts";

/** Folds one event in, and appends every task that moved to `changes`. */
export function reduce(world: World, event: Event, changes: Change[]): void {
  if (event.kind !== "lease_renewed") {
    if (event.seq !== world.seq + 1) broken(`event ${event.seq} follows ${world.seq}`);
    world.seq = event.seq;
  }
  if ("task" in event) reduceTask(world, event, changes);
  else if (isSystemEvent(event)) reduceSystem(world, event);
  else reduceRun(world, event, changes);
}

function reduceSystem(world: World, event: SystemEvent): void {
  const { sessions, pauses } = world;
  switch (event.kind) {
    case "session_joined": {
      const { profile, at } = event;
      const joinedAt = sessions.get(profile.id)?.joinedAt ?? at;
      sessions.set(profile.id, { profile, joinedAt, state: "idle", seenAt: at, losses: 0 });
      return;
    }
    case "worker_started":
      return void world.workers.set(event.worker, event.at);
    case "session_changed": {
      const session = sessions.get(event.session);
      invariant(session !== undefined, `session ${event.session} is known`);
      session.state = event.state;
      session.losses = event.losses;
      session.seenAt = event.at;
      return;
    }
    case "session_left":
      sessions.delete(event.session);
      return;
    case "paused": {
      const { scope, asked, at } = event;
      pauses.set(scopeKey(scope), { scope, asked, at });
      return;
    }
    case "resumed":
      pauses.delete(scopeKey(event.scope));
      return;
    case "drained":
      return;
    default:
      return unreachable(event);
  }
}

function reduceRun(world: World, event: RunEvent, changes: Change[]): void {
  switch (event.kind) {
    case "run_submitted": {
      const run = newRun(event.run, event.manifest, event.specs);
      world.runs.set(run.no, run);
      settleCarried(run, changes, event);
      for (const task of run.tasks) openIfReady(run, task, run.manifest.submittedAt, changes, event);
      return;
    }
    case "run_reopened":
      mustRun(world, event).status = { state: "active" };
      return;
    case "run_cancelling":
      mustRun(world, event).cancelling = true;
      return;
    case "run_stalled":
      mustRun(world, event).status = { state: "stalled", at: event.at, outcome: event.outcome };
      return;
    case "run_finished":
      mustRun(world, event).status = { state: "finished", at: event.at, outcome: event.outcome };
      for (const key of pausesOf(world.pauses.values(), event.run)) world.pauses.delete(key);
      return;
    default:
      return unreachable(event);
  }
}

function reduceTask(world: World, event: TaskEvent, changes: Change[]): void {
  const run = mustRun(world, event);
  const task = taskOf(run, event.task);
  if (event.kind !== "lease_renewed") {
    if (event.version !== task.version + 1) broken(`${task.spec.id}: event ${event.version} follows ${task.version}`);
    task.version = event.version;
  }
  switch (event.kind) {
    case "claimed": {
      if (task.status.state !== "ready") broken(`${task.spec.id} is claimed from ${task.status.state}`);
      if (event.attempt !== task.attempt + 1)
        broken(`${task.spec.id}: attempt ${event.attempt} follows ${task.attempt}`);
      task.attempt = event.attempt;
      const { worker, deadline, tokenHash } = event;
      const lease = { worker, fence: event.attempt, deadline, tokenHash };
      if (task.lane !== undefined) delete task.lane;
      endWait(task);
      return move(run, task, { state: "claimed", lease, since: event.at }, changes, event);
    }
    case "started": {
      const held = mustBeHeld(task);
      const { lease, stopping } = held;
      const process = event.process === undefined ? {} : { process: event.process };
      const stop = stopping === undefined ? {} : { stopping };
      if (held.state === "verifying")
        return move(run, task, { ...held, since: event.at, begun: true, ...process }, changes, event);
      return move(run, task, { state: "running", lease, since: event.at, ...process, ...stop }, changes, event);
    }
    case "verifying": {
      const held = mustBeHeld(task);
      const { worker, deadline, outcome: work, at } = event;
      const lease = { worker, fence: task.attempt, deadline, tokenHash: NO_TOKEN };
      const again = { state: "verifying", lease, since: at, work } as const;
      return move(run, task, { ...again, ...triesOf(held) }, changes, event);
    }
    case "lease_renewed": {
      const held = mustBeHeld(task);
      // Written in place of the whole status, without a change: nothing but the deadline is different.
      task.status = { ...held, lease: { ...held.lease, deadline: event.deadline } };
      return;
    }
    case "stopping":
      return move(run, task, { ...mustBeHeld(task), stopping: event.reason }, changes, event);
    case "succeeded":
      if (!isTaken(event.outcome)) mustBeHeld(task);
      else invariant(task.status.state === "ready", `${task.spec.id} takes a result while it waits`);
      task.expiries = 0;
      return end(run, task, { state: "succeeded", at: event.at, outcome: event.outcome }, changes, event);
    case "failed":
      mustBeHeld(task);
      task.failures++;
      return end(
        run,
        task,
        { state: "failed", at: event.at, outcome: event.outcome, reason: event.reason },
        changes,
        event,
      );
    case "retried":
      mustBeHeld(task);
      if (event.costs) task.failures++;
      task.expiries = 0;
      return move(run, task, { state: "ready", since: event.at, notBefore: event.notBefore }, changes, event);
    case "expired":
      mustBeHeld(task);
      task.expiries++;
      task.lostBy = event.worker;
      return move(run, task, { state: "ready", since: event.at, notBefore: event.notBefore }, changes, event);
    case "released":
      mustBeHeld(task);
      return move(run, task, { state: "ready", since: event.at, notBefore: event.at }, changes, event);
    case "parked": {
      const message = event.message === undefined ? {} : { message: event.message };
      endWait(task);
      return move(run, task, { state: "parked", at: event.at, reason: event.reason, ...message }, changes, event);
    }
    case "skipped":
      return end(run, task, { state: "skipped", at: event.at, because: event.because }, changes, event);
    case "cancelled":
      return end(run, task, { state: "cancelled", at: event.at }, changes, event);
    case "requeued":
      invariant(task.status.state === "parked", `${task.spec.id} is requeued from ${task.status.state}`);
      task.expiries = 0;
      if (task.unmet === 0)
        return move(run, task, { state: "ready", since: event.at, notBefore: event.at }, changes, event);
      return move(run, task, BLOCKED, changes, event);
    case "approved":
      if (isGateClosed(task)) task.unmet--;
      task.approved = true;
      return openIfReady(run, task, event.at, changes, event);
    case "aged_boost":
      invariant(task.status.state === "ready", `${task.spec.id} waits`);
      task.lane = event.to;
      return stay(run, task, changes, event);
    case "priority_inherited":
      task.lane = event.to;
      return;
    case "offered":
      task.offer = { session: event.session, until: event.until };
      return stay(run, task, changes, event);
    case "offer_ended":
      delete task.offer;
      if (event.why === "ignored") task.ignored = (task.ignored ?? 0) + 1;
      return stay(run, task, changes, event);
    case "starving":
      task.starving = {
        since: event.at,
        ...task.starving,
        count: event.count,
        ...(task.ignored !== undefined && { ignored: task.ignored }),
      };
      return;
    case "spawn_asked":
      task.starving = { count: 0, since: event.at, ...task.starving, spawned: true };
      return;
    case "starved":
      task.starving = { count: 0, since: event.at, ...task.starving, told: true };
      return;
    case "edited":
      invariant(!isHeld(task.status) && !isTerminal(task.status.state), `${task.spec.id} is edited while it waits`);
      task.spec = { ...task.spec, ...event.changes };
      return stay(run, task, changes, event);
    case "set_back":
      return countFromNow(run, task, event.at, changes, event);
    case "silent":
    case "noted":
    case "late_report_refused":
    case "priority_inversion":
    case "waiting":
      return;
    default:
      return unreachable(event);
  }
}

/** What is known of earlier runs of the acceptance command. A run of it that ended because its scheduler stopped does not count as lost. */
function triesOf(held: Held): Pick<Verifying, "doneBy" | "tries" | "losses"> {
  if (held.state !== "verifying") return { doneBy: held.lease.worker, tries: 1, losses: 0 };
  const { doneBy, tries, losses, begun, stopping } = held;
  return { doneBy, tries: tries + 1, losses: losses + (begun && stopping?.kind !== "shutdown" ? 1 : 0) };
}

/** A task never leaves a terminal state, so this is the one place where its dependents are told. */
function end(run: Run, task: Task, status: Ended, changes: Change[], cause: Event): void {
  endWait(task);
  move(run, task, status, changes, cause);
  run.graph.eachDependent(task.no, (dependentNo, kind) => {
    const dependent = taskOf(run, dependentNo);
    if (!isMet(status.state, kind, dependent.spec)) return;
    dependent.unmet--;
    openIfReady(run, dependent, status.at, changes, cause);
  });
}

/** The task does not wait any more: a later wait of it is a new one, with its own offer and its own count. */
function endWait(task: Task): void {
  // Few tasks have any of these, and deleting a field that is not there is not for free.
  if (task.offer !== undefined) delete task.offer;
  if (task.starving !== undefined) delete task.starving;
  if (task.ignored !== undefined) delete task.ignored;
}

/** Sets times that lie ahead of this clock to now: nothing has begun in the future, and no task has to wait until that moment has come. */
function countFromNow(run: Run, task: Task, now: Instant, changes: Change[], cause: Event): void {
  const { status, starving } = task;
  if (starving !== undefined && starving.since > now) task.starving = { ...starving, since: now };
  if (!("since" in status) || status.since <= now) return;
  if (isHeld(status)) return move(run, task, { ...status, since: now }, changes, cause);
  const notBefore = later(now, between(status.since, status.notBefore));
  move(run, task, { ...status, since: now, notBefore }, changes, cause);
}

function openIfReady(run: Run, task: Task, at: Instant, changes: Change[], cause: Event): void {
  if (task.unmet !== 0 || task.status.state !== "blocked") return;
  move(run, task, { state: "ready", since: at, notBefore: at }, changes, cause);
}

function settleCarried(run: Run, changes: Change[], cause: Event): void {
  const at = run.manifest.submittedAt;
  for (const no of run.manifest.carried) {
    const outcome = { kind: "success", durationMs: millis(0) } as const;
    end(run, taskOf(run, no), { state: "succeeded", at, outcome }, changes, cause);
  }
}

function move(run: Run, task: Task, to: Status, changes: Change[], cause: Event): void {
  const from = task.status;
  if (isTerminal(from.state)) broken(`${task.spec.id} has ended (${from.state}) and cannot become ${to.state}`);
  run.counts[from.state]--;
  run.counts[to.state]++;
  task.status = to;
  changes.push({ run, task, from, to, cause });
}

/** The state of the task is the same, but its place in a queue is not: this tells the queues. */
function stay(run: Run, task: Task, changes: Change[], cause: Event): void {
  if (isTerminal(task.status.state)) return;
  move(run, task, task.status.state === "ready" ? { ...task.status } : task.status, changes, cause);
}

function mustBeHeld(task: Task): Held {
  const { status } = task;
  if (!isHeld(status)) broken(`${task.spec.id} is ${status.state}, not held by a worker`);
  return status;
}

function mustRun(world: World, event: Event): Run {
  const run = world.run(event.run);
  if (run === undefined) broken(`event ${event.seq} is about run ${event.run}, which is not known`);
  return run;
}

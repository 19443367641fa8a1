/** What a run is doing: which tasks run, which wait and why, which failed. The model; text and JSON are made from it. */

import type { RunId, TaskId, WorkerId } from "../../domain/ids.ts";
import { isTaken, type Outcome, type TaskRef } from "../../domain/outcome.ts";
import { type Run, remaining, taskOf } from "../../domain/run.ts";
import { PRIORITIES, type Priority, poolOf } from "../../domain/spec.ts";
import { type FailReason, type Held, isHeld, type StopReason, type Task } from "../../domain/task.ts";
import { type Instant, instant, type Millis } from "../../domain/time.ts";
import type { KeptWish, Wait, WaitReason } from "../../domain/waiting/explanation.ts";
import { WAIT_REASONS } from "../../domain/waiting/explanation.ts";
import type { Pause } from "../../domain/waiting/pause.ts";
import type { PauseReply } from "../../wire/replies/control.ts";
import type { StatusReply } from "../../wire/replies/status.ts";
import { outcomeJson } from "../report/outcome.ts";
import { iso } from "../text/moment.ts";
import type { Counts } from "../text/sign.ts";
import { skippedBy } from "../why/skipped.ts";
import { waitJson } from "../why/wait.ts";
import { isRetry, type Titled, titleOf } from "./named.ts";
import { leavesLog } from "./own-log.ts";
import { wishJson } from "./wishes.ts";

/** What the view cannot derive from the run. */
export interface StatusInput {
  readonly run: Run;
  readonly now: Instant;
  /** The process that schedules the run at the moment, if there is one. */
  readonly owner?: StatusOwner;
  /** Why a task waits, for tasks that do. */
  readonly waitOf: (task: Task) => Wait | undefined;
  /** The resources, and how much of each is free. */
  readonly resources: readonly { readonly name: string; readonly capacity: number; readonly free: number }[];
  readonly logOf: (task: TaskId, attempt: number) => string;
  /** Every pause, of whatever scope. */
  readonly pauses?: readonly Pause[];
  /** Requests that wait for a scheduler. */
  readonly wishes?: readonly KeptWish[];
  /** The sessions of all pools. */
  readonly sessions?: readonly SessionRow[];
  /** Whether the run is the newest one, which commands use when no run is named. */
  readonly newest: boolean;
}
export type SessionRow = StatusReply["sessions"][number];
type StatusOwner = NonNullable<StatusReply["owner"]>;

export interface StatusView {
  readonly run: RunId;
  readonly name: string;
  readonly file: string;
  /** The tasks that the run was limited to, with what they need. */
  readonly only?: readonly TaskId[];
  readonly newest: boolean;
  readonly state: RunState;
  readonly now: Instant;
  readonly submittedAt: Instant;
  readonly endedAt?: Instant;
  readonly owner?: StatusOwner;
  readonly counts: Counts;
  readonly total: number;
  readonly running: readonly RunningTask[];
  /** In the order of `WAIT_REASONS`, without empty groups. */
  readonly waiting: readonly WaitingGroup[];
  readonly failed: readonly FailedTask[];
  /** Tasks that took the result of another with the same idempotency key. */
  readonly taken: readonly TakenTask[];
  /** Of a run that has ended: the tasks that did not fail, in the order in which they ended. */
  readonly ended: readonly EndedTask[];
  /** Ready tasks by priority. */
  readonly queue: Readonly<Record<Priority, number>>;
  readonly resources: StatusReply["resources"];
  /** The pauses that hold back a task of this run. */
  readonly paused: readonly PauseReply[];
  readonly wishes: readonly KeptWish[];
  readonly sessions: readonly SessionRow[];
}

export type RunState = StatusReply["state"];

export interface RunningTask extends Titled {
  readonly task: TaskId;
  readonly attempt: number;
  readonly again: boolean;
  readonly worker: WorkerId;
  readonly state: Held["state"];
  readonly since: Instant;
  readonly deadline: Instant;
  readonly stopping?: StopReason["kind"];
}
export interface WaitingGroup {
  readonly reason: WaitReason;
  /** Oldest first; tasks without a known beginning of their wait come last, in the order of the plan. */
  readonly tasks: readonly WaitingTask[];
}
export interface WaitingTask extends Titled {
  readonly task: TaskId;
  readonly since?: Instant;
  readonly wait: Wait;
}
export interface TakenTask extends Titled {
  readonly task: TaskId;
  readonly from: TaskRef;
}
/** A task that ended, and did not fail. */
export interface EndedTask extends Titled {
  readonly task: TaskId;
  readonly state: "succeeded" | "skipped" | "cancelled";
  readonly at: Instant;
  /** Absent where no attempt of this run ended it. */
  readonly durationMs?: Millis;
}
export interface FailedTask extends Titled {
  readonly task: TaskId;
  readonly at: Instant;
  readonly attempt: number;
  readonly again: boolean;
  readonly outcome: Outcome;
  readonly reason: FailReason;
  /** Absent where the task has no log. */
  readonly log?: string;
  /** How many tasks were skipped because of this task, directly or through others. */
  readonly skipped: number;
}

export function statusOf(input: StatusInput): StatusView {
  const { run, now, owner, logOf } = input;
  const { manifest, status } = run;
  const queue: Record<Priority, number> = Object.fromEntries(PRIORITIES.map((lane) => [lane, 0])) as never;
  const running: RunningTask[] = [];
  const failed: FailedTask[] = [];
  const taken: TakenTask[] = [];
  const skipped = skippedBy(run);
  for (const task of run.tasks) {
    const { spec, attempt } = task;
    const of = task.status;
    if (of.state === "ready") queue[spec.priority]++;
    else if (isHeld(of)) running.push(runningTask(task, of));
    else if (of.state === "succeeded" && isTaken(of.outcome))
      taken.push({ task: spec.id, ...titleOf(spec), from: of.outcome.takenFrom });
    else if (of.state === "failed") {
      const { at, outcome, reason } = of;
      const log = leavesLog(task) ? { log: logOf(spec.id, attempt) } : {};
      const because = skipped.get(task)?.length ?? 0;
      const again = isRetry(task);
      failed.push({ task: spec.id, ...titleOf(spec), at, attempt, again, outcome, reason, ...log, skipped: because });
    }
  }
  return {
    run: manifest.id,
    name: manifest.name,
    file: manifest.file,
    ...(manifest.only !== undefined && { only: manifest.only }),
    newest: input.newest,
    state: runState(run, owner !== undefined),
    now,
    submittedAt: manifest.submittedAt,
    ...(status.state !== "active" && { endedAt: status.at }),
    ...(owner !== undefined && { owner }),
    counts: { ...run.counts },
    total: run.tasks.length,
    running: running.sort((a, b) => a.since - b.since),
    waiting: remaining(run) === 0 ? [] : groupWaiting(input),
    failed: failed.sort((a, b) => a.at - b.at),
    taken,
    ended: status.state === "active" ? [] : endedOf(run),
    queue,
    resources: input.resources.map(({ name, capacity, free }) => ({ name, capacity, used: capacity - free })),
    paused: status.state === "finished" ? [] : (input.pauses ?? []).flatMap((pause) => pausedHere(run, pause) ?? []),
    wishes: input.wishes ?? [],
    sessions: input.sessions ?? [],
  };
}

function endedOf({ tasks }: Run): readonly EndedTask[] {
  const ended = tasks.flatMap(({ spec, status, attempt }): EndedTask[] => {
    if (status.state !== "succeeded" && status.state !== "skipped" && status.state !== "cancelled") return [];
    const { state, at } = status;
    const took = state === "succeeded" && attempt > 0 ? { durationMs: status.outcome.durationMs } : {};
    return [{ task: spec.id, ...titleOf(spec), state, at, ...took }];
  });
  return ended.sort((a, b) => a.at - b.at);
}

/** The pause in the words of commands, if it reaches a task of the run. */
function pausedHere(run: Run, { scope, asked, at }: Pause): PauseReply | undefined {
  const record = { ...asked, at: iso(at) };
  const here = { run: run.manifest.id };
  switch (scope.of) {
    case "scheduler":
      return { of: scope.of, ...record };
    case "pool":
      return run.tasks.some(({ spec }) => poolOf(spec) === scope.pool)
        ? { of: scope.of, pool: scope.pool, ...record }
        : undefined;
    case "run":
      return scope.run === run.no ? { of: scope.of, ...here, ...record } : undefined;
    case "task":
      return scope.run === run.no
        ? { of: scope.of, ...here, task: taskOf(run, scope.task).spec.id, ...record }
        : undefined;
  }
}

export function runState({ status, cancelling }: Pick<Run, "status" | "cancelling">, owned: boolean): RunState {
  if (status.state !== "active") return status.outcome;
  if (!owned) return "interrupted";
  return cancelling ? "cancelling" : "running";
}

function runningTask(task: Task, { lease, state, since, stopping }: Held): RunningTask {
  const { spec, attempt } = task;
  const { worker, deadline } = lease;
  const stop = stopping === undefined ? {} : { stopping: stopping.kind };
  return { task: spec.id, ...titleOf(spec), attempt, again: isRetry(task), worker, state, since, deadline, ...stop };
}

function groupWaiting({ run, waitOf }: StatusInput): readonly WaitingGroup[] {
  const groups = new Map<WaitReason, WaitingTask[]>();
  for (const task of run.tasks) {
    const wait = waitOf(task);
    if (wait === undefined) continue;
    const { status } = task;
    const since = status.state === "ready" ? status.since : status.state === "parked" ? status.at : undefined;
    const waiting: WaitingTask = {
      task: task.spec.id,
      ...titleOf(task.spec),
      wait,
      ...(since !== undefined && { since }),
    };
    const known = groups.get(wait.reason);
    if (known === undefined) groups.set(wait.reason, [waiting]);
    else known.push(waiting);
  }
  return WAIT_REASONS.flatMap((reason) => {
    const tasks = groups.get(reason);
    return tasks === undefined ? [] : [{ reason, tasks: tasks.sort((a, b) => sortTime(a) - sortTime(b)) }];
  });
}

const sortTime = ({ since }: WaitingTask): Instant => since ?? instant(Number.MAX_SAFE_INTEGER);

/** For programs: everything, without cuts. */
export function statusJson(view: StatusView): StatusReply {
  const { now } = view;
  const aged = (since: Instant) => ({ since: iso(since), age_ms: now - since });
  return {
    run: view.run,
    name: view.name,
    file: view.file,
    ...(view.only !== undefined && { only: view.only }),
    state: view.state,
    at: iso(now),
    submitted_at: iso(view.submittedAt),
    ended_at: view.endedAt === undefined ? null : iso(view.endedAt),
    owner: view.owner ?? null,
    tasks: { total: view.total, ...view.counts },
    running: view.running.map(({ task, title, attempt, worker, state, since, deadline, stopping }) => ({
      task,
      ...titleOf({ title }),
      attempt,
      worker,
      state,
      ...(stopping !== undefined && { stopping }),
      ...aged(since),
      deadline: iso(deadline),
    })),
    waiting: view.waiting.map(({ reason, tasks }) => ({
      reason,
      count: tasks.length,
      tasks: tasks.map(({ task, title, since, wait }) => ({
        task,
        ...titleOf({ title }),
        ...(since !== undefined && aged(since)),
        wait: waitJson(wait),
      })),
    })),
    failed: view.failed.map(({ task, title, reason, log, skipped, at, attempt, outcome }) => ({
      task,
      ...titleOf({ title }),
      reason,
      ...(log !== undefined && { log }),
      skipped,
      at: iso(at),
      attempts: attempt,
      outcome: outcomeJson(outcome),
    })),
    ...(view.taken.length > 0 && { taken: view.taken }),
    queue: view.queue,
    resources: view.resources,
    paused: view.paused,
    ...(view.wishes.length > 0 && { asked: view.wishes.map(wishJson) }),
    sessions: view.sessions,
  };
}

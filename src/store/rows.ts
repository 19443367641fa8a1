/** Between the World and the tables: one row for each task that anything has happened to. */
import type { TaskNo } from "../domain/graph.ts";
import { workerId } from "../domain/ids.ts";
import type { Outcome, Success } from "../domain/outcome.ts";
import { type Run, type RunManifest, type RunNo, type RunStatus, taskOf } from "../domain/run.ts";
import type { Priority, TaskSpec } from "../domain/spec.ts";
import {
  type FailReason,
  isHeld,
  type Offer,
  type ParkReason,
  type ProcessIdentity,
  type Starving,
  type Status,
  type StopReason,
  type Task,
  type Verifying,
} from "../domain/task.ts";
import { type Instant, instant, millis } from "../domain/time.ts";
import { countUnmet } from "../domain/waiting/needs.ts";
import { BLOCKED, newRun } from "../domain/world.ts";
import { invariant, unreachable } from "../std/invariant.ts";

/** As stored: `blocked` and `ready` differ only by what the graph knows, so they are one word here. */
export const STORED_STATES = [
  "waiting",
  "claimed",
  "running",
  "verifying",
  "succeeded",
  "failed",
  "cancelled",
  "skipped",
  "parked",
] as const;
export type StoredState = (typeof STORED_STATES)[number];

export interface TaskRow {
  readonly run: RunNo;
  readonly task: TaskNo;
  readonly state: StoredState;
  readonly version: number;
  readonly attempt: number;
  readonly failures: number;
  readonly expiries: number;
  readonly approved: boolean;
  /** When the task came into this state. */
  readonly since: Instant;
  readonly notBefore: Instant | null;
  readonly worker: string | null;
  readonly deadline: Instant | null;
  readonly tokenHash: string | null;
  readonly lostBy: string | null;
  readonly lane: Priority | null;
  /** The fields that only some states have, as JSON. */
  readonly detail: Detail | null;
}

interface Detail {
  readonly outcome?: Outcome;
  readonly reason?: string;
  readonly because?: TaskNo;
  readonly process?: ProcessIdentity;
  readonly stopping?: StopReason;
  readonly message?: string;
  readonly offer?: Offer;
  readonly starving?: Starving;
  readonly ignored?: number;
  readonly verifying?: {
    readonly work: Success;
    readonly doneBy: string;
    readonly tries: number;
    readonly losses: number;
    readonly begun?: true;
  };
}

export interface RunRow {
  readonly no: RunNo;
  readonly manifest: RunManifest;
  readonly tasks: number;
  readonly status: RunStatus;
  readonly cancelling: boolean;
}

export const toRunRow = (run: Run): RunRow => ({
  no: run.no,
  manifest: run.manifest,
  tasks: run.tasks.length,
  status: run.status,
  cancelling: run.cancelling,
});

export function toTaskRow(run: Run, task: Task): TaskRow {
  const status = task.status;
  const held = isHeld(status) ? status.lease : undefined;
  return {
    run: run.no,
    task: task.no,
    state: status.state === "blocked" || status.state === "ready" ? "waiting" : status.state,
    version: task.version,
    attempt: task.attempt,
    failures: task.failures,
    expiries: task.expiries,
    approved: task.approved,
    since: sinceOf(run, status),
    notBefore: status.state === "ready" ? status.notBefore : null,
    worker: held?.worker ?? null,
    deadline: held?.deadline ?? null,
    tokenHash: held?.tokenHash ?? null,
    lostBy: task.lostBy ?? null,
    lane: task.lane ?? null,
    detail: detailOf(task),
  };
}

/** The run as the rows describe it: the same as after a replay of every event. */
export function restoreRun(row: RunRow, specs: readonly TaskSpec[], rows: Iterable<TaskRow>): Run {
  const run = newRun(row.no, row.manifest, specs);
  run.status = row.status;
  run.cancelling = row.cancelling;
  const carried = { kind: "success", durationMs: millis(0) } as const;
  for (const no of row.manifest.carried) {
    set(run, taskOf(run, no), { state: "succeeded", at: row.manifest.submittedAt, outcome: carried });
  }
  const waiting = new Map<TaskNo, TaskRow>();
  for (const taskRow of rows) {
    restoreTask(run, taskOf(run, taskRow.task), taskRow);
    if (taskRow.state === "waiting") waiting.set(taskRow.task, taskRow);
  }
  for (const task of run.tasks) {
    task.unmet = countUnmet(run, task);
    if (task.status.state === "blocked" && task.unmet === 0)
      set(run, task, readyAgain(run, task, waiting.get(task.no)));
  }
  return run;
}

function restoreTask(run: Run, task: Task, row: TaskRow): void {
  task.version = row.version;
  task.attempt = row.attempt;
  task.failures = row.failures;
  task.expiries = row.expiries;
  task.approved = row.approved;
  if (row.lostBy !== null) task.lostBy = workerId(row.lostBy);
  if (row.lane !== null) task.lane = row.lane;
  if (row.detail?.offer !== undefined) task.offer = row.detail.offer;
  if (row.detail?.ignored !== undefined) task.ignored = row.detail.ignored;
  if (row.detail?.starving !== undefined) task.starving = row.detail.starving;
  set(run, task, statusOf(row));
}

function statusOf(row: TaskRow): Status {
  const { state, since: at, detail } = row;
  switch (state) {
    case "waiting":
      return BLOCKED;
    case "claimed":
    case "running":
    case "verifying": {
      invariant(row.worker !== null && row.deadline !== null && row.tokenHash !== null, "a held row has its lease");
      const { worker, deadline, tokenHash } = row;
      const lease = { worker: workerId(worker), fence: row.attempt, deadline, tokenHash };
      const stopping = detail?.stopping === undefined ? {} : { stopping: detail.stopping };
      const process = detail?.process === undefined ? {} : { process: detail.process };
      if (state === "verifying") {
        const { doneBy, ...rest } = must(detail?.verifying);
        return { state, lease, since: at, doneBy: workerId(doneBy), ...rest, ...process, ...stopping };
      }
      return state === "claimed"
        ? { state, lease, since: at, ...stopping }
        : { state, lease, since: at, ...process, ...stopping };
    }
    case "succeeded":
      return { state, at, outcome: must(detail?.outcome) };
    case "failed":
      return { state, at, outcome: must(detail?.outcome), reason: must(detail?.reason) as FailReason };
    case "cancelled":
      return { state, at };
    case "skipped":
      return { state, at, because: must(detail?.because) };
    case "parked": {
      const message = detail?.message === undefined ? {} : { message: detail.message };
      return { state, at, reason: must(detail?.reason) as ParkReason, ...message };
    }
    default:
      return unreachable(state);
  }
}

/** Rows of blocked tasks carry no time of their own: it follows from the tasks they wait for. */
function sinceOf(run: Run, status: Status): Instant {
  if (status.state === "blocked") return run.manifest.submittedAt;
  return "at" in status ? status.at : status.since;
}

const verifyingOf = ({ work, doneBy, tries, losses, begun }: Verifying): Detail["verifying"] => ({
  work,
  doneBy,
  tries,
  losses,
  ...(begun && { begun }),
});

function detailOf({ status, offer, starving, ignored }: Task): Detail | null {
  switch (status.state) {
    case "ready":
      if (offer === undefined && starving === undefined && ignored === undefined) return null;
      return { ...(offer && { offer }), ...(starving && { starving }), ...(ignored && { ignored }) };
    case "claimed":
    case "running":
    case "verifying": {
      const { stopping } = status;
      const process = status.state === "claimed" ? undefined : status.process;
      const verifying = status.state === "verifying" ? verifyingOf(status) : undefined;
      if (process === undefined && stopping === undefined && verifying === undefined) return null;
      return { ...(process && { process }), ...(stopping && { stopping }), ...(verifying && { verifying }) };
    }
    case "succeeded":
      return { outcome: status.outcome };
    case "failed":
      return { outcome: status.outcome, reason: status.reason };
    case "skipped":
      return { because: status.because };
    case "parked":
      return { reason: status.reason, ...(status.message !== undefined && { message: status.message }) };
    default:
      return null;
  }
}

/** A row with a time is believed; a task without any event became ready with the last of its needs. */
function readyAgain(run: Run, task: Task, row: TaskRow | undefined): Status {
  if (row?.notBefore != null) return { state: "ready", since: row.since, notBefore: row.notBefore };
  let at: number = run.manifest.submittedAt;
  run.graph.eachNeed(task.no, (need) => {
    const status = taskOf(run, need).status;
    if ("at" in status) at = Math.max(at, status.at);
  });
  return { state: "ready", since: instant(at), notBefore: instant(at) };
}

function set(run: Run, task: Task, status: Status): void {
  run.counts[task.status.state]--;
  run.counts[status.state]++;
  task.status = status;
}

function must<T>(value: T | undefined): T {
  invariant(value !== undefined, "the row has what its state must have");
  return value;
}

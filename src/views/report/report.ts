/** How a run ended: the last text that a person reads about it, and the last line for a program. */

import type { RunId, TaskId } from "../../domain/ids.ts";
import type { Outcome } from "../../domain/outcome.ts";
import type { Run, RunOutcome } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import { between, type Instant, instant, type Millis, millis } from "../../domain/time.ts";
import type { Blocker } from "../../domain/waiting/explanation.ts";
import type { SummaryReply } from "../../wire/replies/run.ts";
import { isRetry, type Titled, titleOf } from "../status/named.ts";
import { leavesLog } from "../status/own-log.ts";
import type { Counts } from "../text/sign.ts";
import type { RunProgress } from "../timeline/run-progress.ts";
import { skippedBy } from "../why/skipped.ts";

export interface ReportInput extends SummaryInput {
  /** Begins at the same moment as the summary. */
  readonly progress: RunProgress;
  /** Another process schedules the run, and continues it as soon as that is possible. */
  readonly served?: boolean;
  /** The run is not the newest one, which commands use when no run is named. */
  readonly older?: boolean;
  /** The last lines a failed task printed. */
  readonly tailOf: (task: TaskId, attempt: number) => readonly string[];
  readonly logOf: (task: TaskId, attempt: number) => string;
}
export interface SummaryInput {
  readonly run: Run;
  readonly now: Instant;
  /** When this command took the run up; its submission when absent. */
  readonly since?: Instant;
  /** A person stopped the scheduler before the run had ended. */
  readonly interrupted?: boolean;
  /** For a run that stalled: what holds each remaining task back. */
  readonly blockers: readonly Blocker[];
}

/** `waiting`, `deadlock` and `interrupted` are not ends: the run can go on. */
export type ReportOutcome = RunOutcome | "interrupted";

export interface Report {
  readonly run: RunId;
  readonly name: string;
  readonly file: string;
  readonly now: Instant;
  readonly outcome: ReportOutcome;
  readonly counts: Counts;
  readonly total: number;
  /** Done by an earlier run. */
  readonly carried: number;
  readonly attempts: number;
  readonly durationMs: Millis;
  /** The process that schedules the run continues it by itself. */
  readonly served: boolean;
  /** The run is the newest one, which commands use when no run is named. */
  readonly newest: boolean;
  /** The run had begun before; durations, work and path are from when it was taken up again. */
  readonly resumed: boolean;
  /** The sum of all attempts. */
  readonly workMs: Millis;
  readonly slowest: readonly { readonly task: TaskId; readonly durationMs: Millis }[];
  /** The chain that decided when the run ended; empty while it can go on. */
  readonly path: { readonly tasks: readonly TaskId[]; readonly durationMs: Millis };
  readonly failed: readonly FailedReport[];
  readonly blockers: readonly Blocker[];
}
export interface FailedReport extends Titled {
  readonly task: TaskId;
  readonly attempt: number;
  readonly again: boolean;
  readonly outcome: Outcome;
  readonly tail: readonly string[];
  /** Absent where the task has no log. */
  readonly log?: string;
  /** The tasks that were skipped because of it. */
  readonly skipped: readonly TaskId[];
}

const SLOWEST_MAX = 3;
/** The last lines are read for this many failures only; the other logs can be asked for. */
export const FAILURES_MAX = 5;

export function reportOf(input: ReportInput): Report {
  const { run, blockers, progress } = input;
  const ended = endedTasks(input);
  const path = run.status.state === "finished" ? progress.path() : [];
  return {
    run: run.manifest.id,
    name: run.manifest.name,
    file: run.manifest.file,
    now: input.now,
    outcome: outcomeOf(run, input.interrupted === true),
    counts: { ...run.counts },
    total: run.tasks.length,
    carried: run.manifest.carried.length,
    attempts: attemptsOf(run),
    durationMs: durationOf(input),
    served: input.served === true,
    newest: input.older !== true,
    resumed: sinceOf(input) > run.manifest.submittedAt,
    workMs: progress.workMs,
    slowest: ended.sort((a, b) => b.durationMs - a.durationMs).slice(0, SLOWEST_MAX),
    path: {
      tasks: path.map(({ task }) => task),
      durationMs: millis(path.reduce((sum, link) => sum + link.durationMs, 0)),
    },
    failed: failuresOf(input),
    blockers,
  };
}

function outcomeOf({ status }: Run, interrupted: boolean): ReportOutcome {
  if (status.state === "finished") return status.outcome;
  return status.state === "stalled" && !interrupted ? status.outcome : "interrupted";
}

/** Claims, not failures: every attempt counts. */
const attemptsOf = ({ tasks }: Run): number => tasks.reduce((sum, { attempt }) => sum + attempt, 0);

const sinceOf = ({ run, since }: SummaryInput): Instant => since ?? run.manifest.submittedAt;

function durationOf(input: SummaryInput): Millis {
  const { run, now } = input;
  const end = run.status.state === "active" ? now : run.status.at;
  return millis(Math.max(0, between(sinceOf(input), instant(end))));
}

function endedTasks(input: SummaryInput): { readonly task: TaskId; readonly durationMs: Millis }[] {
  const since = sinceOf(input);
  return input.run.tasks.flatMap(({ spec, status, attempt }) =>
    (status.state === "succeeded" || status.state === "failed") && attempt > 0 && status.at >= since
      ? [{ task: spec.id, durationMs: status.outcome.durationMs }]
      : [],
  );
}

function failuresOf({ run, tailOf, logOf }: ReportInput): readonly FailedReport[] {
  const failed = run.tasks.filter(({ status }) => status.state === "failed");
  const skipped = skippedBy(run);
  return failed.map((task, at) => {
    const { spec, attempt, status } = task as Task & { readonly status: { readonly outcome: Outcome } };
    const tail = at < FAILURES_MAX ? tailOf(spec.id, attempt) : [];
    return {
      task: spec.id,
      ...titleOf(spec),
      attempt,
      again: isRetry(task),
      outcome: status.outcome,
      tail,
      ...(leavesLog(task) && { log: logOf(spec.id, attempt) }),
      skipped: skipped.get(task) ?? [],
    };
  });
}

/** The last line of `rota run --json`. For a program an interrupted run is a cancelled one: the exit code tells them apart. */
export function summaryJson(input: SummaryInput): SummaryReply {
  const { run, interrupted = false, blockers } = input;
  const { succeeded, failed, skipped, cancelled, parked } = run.counts;
  const outcome = outcomeOf(run, interrupted);
  return {
    run: run.manifest.id,
    outcome: outcome === "interrupted" ? "cancelled" : outcome,
    tasks: { total: run.tasks.length, succeeded, failed, skipped, cancelled, parked },
    attempts: attemptsOf(run),
    duration_ms: durationOf(input),
    ...(blockers.length > 0 && { blockers: blockers.map(blockerJson) }),
  };
}

/** `on`: the task at the far end of the chain that this one waits for. */
const blockerJson = ({ task, state, wait, root }: Blocker) => ({
  task,
  state,
  reason: wait.reason,
  ...(root !== undefined && { on: root.task }),
});

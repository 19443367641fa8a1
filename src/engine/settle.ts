/** What a report, a lost lease or a person's request makes true. Each is turned into events here, and nowhere else. */
import { toSkip } from "../decide/cascade.ts";
import { afterLoss, jitterOf, rule } from "../decide/rule.ts";
import { EXPIRIES_MAX } from "../domain/lease.ts";
import { findTask, type Run } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { type Asked, isHeld, isTerminal, type StopReason, type Task } from "../domain/task.ts";
import { type Instant, millis } from "../domain/time.ts";
import type { RequestKind } from "../store/store.ts";
import type { Report } from "./attempts.ts";
import type { Journal } from "./journal.ts";

/** What the functions here need of the turn they are part of. */
export interface Turn {
  readonly now: Instant;
  readonly journal: Journal;
  /** Has the attempt stopped once this turn is durable. */
  stop(task: Task, reason: StopReason): void;
  /** Is done once this turn is durable. */
  after(act: () => void): void;
}

/** A report counts only under the fence of the current claim; any other is refused, and leaves a trace. */
export function settleReport(turn: Turn, run: Run, task: Task, fence: number, report: Report): void {
  const { now, journal } = turn;
  const { status } = task;
  if (!isHeld(status) || status.lease.fence !== fence) {
    const reported = report.kind === "ended" ? report.outcome.kind : report.kind;
    return journal.ofTask(run, task, { kind: "late_report_refused", fence, reported }, now);
  }
  if (report.kind === "started") {
    if (status.state !== "claimed") return;
    const process = report.process === undefined ? {} : { process: report.process };
    return journal.ofTask(run, task, { kind: "started", ...process }, now);
  }
  journal.ofTask(run, task, rule(task, report.outcome, now, jitterOf(run.manifest.seed, task.no, task.attempt)), now);
  parkIfPoison(turn, run, task);
}

/** The holder is gone. Not the task's fault, unless it happens again and again. */
export function settleLoss(turn: Turn, run: Run, task: Task, holderIsDead: boolean): void {
  const { now, journal } = turn;
  const { status } = task;
  if (!isHeld(status)) return;
  if (status.stopping?.kind === "cancelled") {
    return journal.ofTask(run, task, { kind: "cancelled", asked: status.stopping.asked }, now);
  }
  const notBefore = holderIsDead ? now : afterLoss(status.lease.deadline, now);
  journal.ofTask(run, task, { kind: "expired", worker: status.lease.worker, notBefore }, now);
  parkIfPoison(turn, run, task);
}

export function parkIfPoison({ journal, now }: Pick<Turn, "journal" | "now">, run: Run, task: Task): void {
  if (task.status.state !== "ready" || task.expiries < EXPIRIES_MAX) return;
  journal.ofTask(run, task, { kind: "parked", reason: "poison" }, now);
}

/** Skips whatever can no longer come to anything; each skip is asked about in turn. */
export function settleDependents(turn: Turn, run: Run, ended: Task): void {
  for (const no of toSkip(run, ended)) {
    const dependent = run.tasks[no] as Task;
    if (isTerminal(dependent.status.state)) continue;
    turn.journal.ofTask(run, dependent, { kind: "skipped", because: ended.no }, turn.now);
  }
}

/** Does what a person asked for. What cannot be done any more is let be: the request came too late. */
export function settleRequest(
  turn: Turn,
  run: Run,
  kind: RequestKind,
  id: TaskSpec["id"] | undefined,
  asked: Asked,
): void {
  if (run.status.state === "finished") return;
  const tasks = id === undefined ? run.tasks : [findTask(run, id)].filter((task) => task !== undefined);
  switch (kind) {
    case "cancel":
      if (id === undefined) turn.journal.ofRun(run.no, { kind: "run_cancelling", ...asked }, turn.now);
      for (const task of tasks) cancel(turn, run, task, asked);
      return;
    case "requeue":
      for (const task of tasks) {
        if (task.status.state === "parked") turn.journal.ofTask(run, task, { kind: "requeued", asked }, turn.now);
      }
      return;
    case "approve":
      for (const task of tasks) {
        const waits = task.spec.gate !== undefined && !task.approved && !isTerminal(task.status.state);
        if (waits) turn.journal.ofTask(run, task, { kind: "approved", asked }, turn.now);
      }
      return;
  }
}

/** What runs is stopped first, and is cancelled when nothing of it is left. */
function cancel(turn: Turn, run: Run, task: Task, asked: Asked): void {
  const { status } = task;
  if (isTerminal(status.state)) return;
  if (!isHeld(status)) return turn.journal.ofTask(run, task, { kind: "cancelled", asked }, turn.now);
  if (status.stopping?.kind === "cancelled") return;
  stopAttempt(turn, run, task, { kind: "cancelled", asked });
}

/** Nobody here can end what a session does: it is told with its next sign of life. At the hard limit it is not waited for. */
export function stopRemote(turn: Turn, run: Run, task: Task, reason: StopReason): void {
  const { journal, now } = turn;
  if (reason.kind !== "timeout" || reason.limit === "soft")
    return journal.ofTask(run, task, { kind: "stopping", reason }, now);
  const { status } = task;
  const durationMs = millis(isHeld(status) ? now - status.since : 0);
  const outcome = { kind: "timeout", limit: reason.limit, durationMs } as const;
  const news = rule(task, outcome, now, jitterOf(run.manifest.seed, task.no, task.attempt));
  // It may be at work until its lease is over, and does not know yet that nobody waits for it.
  const free = isHeld(status) ? afterLoss(status.lease.deadline, now) : now;
  journal.ofTask(
    run,
    task,
    news.kind === "retried" && news.notBefore < free ? { ...news, notBefore: free } : news,
    now,
  );
}

export function stopAttempt(turn: Turn, run: Run, task: Task, reason: StopReason): void {
  turn.journal.ofTask(run, task, { kind: "stopping", reason }, turn.now);
  turn.stop(task, reason);
}

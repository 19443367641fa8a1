/** How a run came out, for the program that ran it. */
import type { FailureKind, Outcome } from "../domain/outcome.ts";
import { describeOutcome } from "../domain/outcome.ts";
import type { Run, RunOutcome } from "../domain/run.ts";
import { isTerminal, type Task, type TaskState } from "../domain/task.ts";
import type { SummaryReply } from "../wire/replies/run.ts";

/** How one task stands, or ended. */
export interface TaskResult<R = unknown> {
  readonly task: string;
  readonly state: TaskState;
  /** How often it was tried. */
  readonly attempts: number;
  readonly summary?: string;
  /** What its function gave back. It has been JSON meanwhile: a date is text. */
  readonly result?: R;
  readonly failure?: { readonly kind: FailureKind; readonly message: string };
  /** The last lines that a command printed which has failed. */
  readonly tail?: readonly string[];
}

/** How each task ended, by its id. Those of a matrix have ids that are made. */
export type ResultsOf<P> = P extends { readonly tasks: infer T }
  ? {
      readonly [K in keyof T as T[K] extends { readonly matrix: object } ? never : K]: TaskResult<ResultOf<T[K]>>;
    } & Readonly<Record<string, TaskResult>>
  : Readonly<Record<string, TaskResult>>;
type ResultOf<T> = T extends { readonly run: (...given: never[]) => infer A } ? ResultIn<Awaited<A>> : unknown;
type ResultIn<A> = A extends { readonly result?: infer R } ? R : unknown;

/** How a run came out. `interrupted`: its signal was aborted, and with a state directory it can be gone on with. */
export interface RunResult<P = unknown> {
  readonly run: string;
  readonly outcome: RunOutcome | "interrupted";
  readonly tasks: ResultsOf<P>;
  readonly counts: SummaryReply["tasks"];
  readonly attempts: number;
  readonly durationMs: number;
  /** What holds back what remains, of a run that waits for a person or cannot go on. */
  readonly blockers: NonNullable<SummaryReply["blockers"]>;
}

export function taskResult<R = unknown>(task: Task, tail?: readonly string[]): TaskResult<R> {
  const { spec, status, attempt } = task;
  const outcome = "outcome" in status && isTerminal(status.state) ? status.outcome : undefined;
  return {
    task: spec.id,
    state: status.state,
    attempts: attempt,
    ...(outcome !== undefined && outcomeParts<R>(outcome)),
    ...(tail !== undefined && { tail }),
  };
}

function outcomeParts<R>(outcome: Outcome): Pick<TaskResult<R>, "summary" | "result" | "failure"> {
  if (outcome.kind !== "success") return { failure: { kind: outcome.kind, message: describeOutcome(outcome) } };
  const { summary, result } = outcome;
  return { ...(summary !== undefined && { summary }), ...(result !== undefined && { result: result as R }) };
}

/** `summary`: the same run as `rota run --json` sums it up. */
export function runResult<P>(
  run: Run,
  summary: SummaryReply,
  { interrupted, tailOf }: { readonly interrupted: boolean; readonly tailOf: (task: Task) => readonly string[] },
): RunResult<P> {
  const tasks: Record<string, TaskResult> = {};
  for (const task of run.tasks) {
    const hasTail = task.status.state === "failed" && !("call" in task.spec.run);
    tasks[task.spec.id] = taskResult(task, hasTail ? tailOf(task) : undefined);
  }
  return {
    run: summary.run,
    outcome: interrupted ? "interrupted" : summary.outcome,
    tasks: tasks as ResultsOf<P>,
    counts: summary.tasks,
    attempts: summary.attempts,
    durationMs: summary.duration_ms,
    blockers: summary.blockers ?? [],
  };
}

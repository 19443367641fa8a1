/** Tasks whose work is a function of the program: what the function is given, what it may give back, and what becomes of it. */
import type { Failure, Success } from "../domain/outcome.ts";
import { findTask, type Run } from "../domain/run.ts";
import type { EnvValue } from "../domain/spec.ts";
import type { StopReason, Task } from "../domain/task.ts";
import { between, type Millis, millis } from "../domain/time.ts";
import type { Clock } from "../effects/clock.ts";
import type { Control, Handler } from "../execute/inline/executor.ts";
import { type TaskResult, taskResult } from "./result.ts";

/** What a function is given. */
export interface TaskContext {
  /** The name of the run, and the id of the task in it. */
  readonly run: string;
  readonly task: string;
  readonly title?: string;
  /** Which claim of the task this is, from 1. It grows with every try and is never used twice: it fences what the function writes elsewhere. */
  readonly attempt: number;
  readonly fence: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The task's own variables, those from the program's environment included. */
  readonly env: Readonly<Record<string, string>>;
  /** Where the work is to be done, absolute. */
  readonly directory: string;
  /** Aborted when the function should end: a time-out, a cancellation, or the end of the scheduler. It has the grace of the settings to do so. */
  readonly signal: AbortSignal;
  /** How the tasks ended that this one waited for, by their ids. */
  readonly needs: Readonly<Record<string, TaskResult>>;
  /** A sign of life; people can read the note in the events. */
  readonly progress: (note?: string) => void;
}

/** What a function gives back. Text sums up what came of it, for people; `result` is any JSON value, for the tasks that need it. */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that gives nothing back has this type.
export type TaskAnswer<R = unknown> = void | string | { readonly summary?: string; readonly result?: R };

/** The work of a task. What it throws is a failure of the attempt, on which the task's `retry` rules as on any other. */
export type TaskFunction<R = unknown> = (task: TaskContext) => TaskAnswer<R> | Promise<TaskAnswer<R>>;

/** The kind of a failure that is more than an exit code. */
export interface TaskFailureOptions extends ErrorOptions {
  /** `exit` unless given. */
  readonly kind?: "exit" | "rate-limit" | "quota" | "auth" | "refused" | "budget";
  /** For `exit`: what `retry.on` of the task is held against. 1 unless given. */
  readonly code?: number;
  /** For `rate-limit`: in how many milliseconds the service takes work again. */
  readonly resetMs?: number;
}

/** Thrown by a function to say what kind of failure it was. */
export class TaskFailure extends Error {
  override readonly name = "TaskFailure";
  readonly kind: NonNullable<TaskFailureOptions["kind"]>;
  readonly code: number;
  readonly resetMs: number | undefined;

  constructor(message: string, { kind = "exit", code = 1, resetMs, ...options }: TaskFailureOptions = {}) {
    super(message, options);
    this.kind = kind;
    this.code = code;
    this.resetMs = resetMs;
  }
}

/** Where an attempt is made: the run and the task it is of, and how tasks ended that an earlier run had done. */
export interface Scene {
  readonly run: Run;
  readonly task: Task;
  readonly earlier: (task: Task) => Promise<Task | undefined>;
}

export interface Calling {
  readonly functions: ReadonlyMap<string, TaskFunction>;
  readonly clock: Clock;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly sceneOf: (run: string, task: string) => Scene;
}

/** The work of the executor of functions. */
export const callWith =
  ({ functions, clock, environment, sceneOf }: Calling): Handler =>
  async (attempt, control) => {
    const since = clock.now();
    const spent = (): Millis => between(since, clock.now());
    const { work } = attempt;
    const called = "call" in work ? functions.get(work.call) : undefined;
    if (called === undefined) return { kind: "spawn", message: "the function is not here", durationMs: spent() };
    const env = environmentOf(attempt.env, environment);
    if (typeof env === "string") return { kind: "spawn", message: env, durationMs: spent() };
    const scene = sceneOf(attempt.run, attempt.task);
    const { spec } = scene.task;
    const needs = await needsOf(scene);
    control.started(undefined);
    try {
      const answer = await called({
        run: attempt.run,
        task: attempt.task,
        ...(spec.title !== undefined && { title: spec.title }),
        attempt: attempt.fence,
        fence: attempt.fence,
        labels: spec.labels,
        env,
        directory: attempt.where.directory,
        signal: signalOf(control),
        needs,
        progress: (note) => (note === undefined ? control.progressed() : control.said({ kind: "said", text: note })),
      });
      return successOf(answer, spent());
    } catch (error) {
      return failureOf(error, spent());
    }
  };

function signalOf({ stopped }: Control): AbortSignal {
  const aborter = new AbortController();
  void stopped.then((reason) => aborter.abort(new Error(STOP_WORDS[reason.kind])));
  return aborter.signal;
}
const STOP_WORDS: Readonly<Record<StopReason["kind"], string>> = {
  timeout: "the time of the task is over",
  cancelled: "the task was cancelled",
  shutdown: "the scheduler ends",
};

/** Text where a variable is not there. */
function environmentOf(
  own: Readonly<Record<string, EnvValue>>,
  from: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> | string {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(own)) {
    const found = typeof value === "string" ? value : from[value.from];
    if (found === undefined) return `the variable ${(value as { readonly from: string }).from} is not set`;
    env[name] = found;
  }
  return env;
}

async function needsOf({ run, task, earlier }: Scene): Promise<Readonly<Record<string, TaskResult>>> {
  const needs: Record<string, TaskResult> = {};
  for (const id of [...task.spec.needs, ...task.spec.after]) {
    const need = findTask(run, id);
    if (need === undefined) continue;
    needs[id] = taskResult(run.manifest.carried.includes(need.no) ? ((await earlier(need)) ?? need) : need);
  }
  return needs;
}

/** As much as an agent's session may say. */
const ANSWER_MAX = 64 * 1024;

function successOf(answer: TaskAnswer, durationMs: Millis): Success {
  const { summary, result } = typeof answer === "string" ? { summary: answer } : (answer ?? {});
  if (summary !== undefined && summary.length > ANSWER_MAX) throw tooLong("summary");
  const text = result === undefined ? undefined : JSON.stringify(result);
  if (text !== undefined && text.length > ANSWER_MAX) throw tooLong("result");
  return {
    kind: "success",
    durationMs,
    ...(summary !== undefined && { summary: summary.toWellFormed() }),
    // What others are given is what a later process would read.
    ...(text !== undefined && { result: JSON.parse(text) as unknown }),
  };
}

const tooLong = (what: string): TaskFailure =>
  new TaskFailure(`its ${what} is longer than ${ANSWER_MAX} characters: write it to a file, and give the path`);

function failureOf(error: unknown, durationMs: Millis): Failure {
  const message = (error instanceof Error ? error.message : String(error)).slice(0, ANSWER_MAX).toWellFormed();
  if (!(error instanceof TaskFailure)) return { kind: "exit", code: 1, message, durationMs };
  const { kind, code, resetMs } = error;
  if (kind === "exit") return { kind, code, message, durationMs };
  if (kind === "rate-limit") return { kind, durationMs, ...(resetMs !== undefined && { resetMs: millis(resetMs) }) };
  return { kind, message, durationMs };
}

/** How an attempt ended: a fact that a worker reports. What follows from it is decided elsewhere. */

import type { Usage } from "./amounts/usage.ts";
import type { RunId, TaskId } from "./ids.ts";
import { type Millis, millis } from "./time.ts";

/** One taxonomy for every worker, so that one policy table can rule on all of them. */
export const FAILURE_KINDS = [
  "exit",
  "signal",
  "timeout",
  "lost",
  "spawn",
  "rate-limit",
  "quota",
  "auth",
  "refused",
  "shutdown",
  "cancelled",
  "verify",
  "budget",
  "shortage",
] as const;
/** What can go wrong with an attempt. */
export type FailureKind = (typeof FAILURE_KINDS)[number];

export const TIMEOUT_LIMITS = ["soft", "hard", "progress"] as const;
export type TimeoutLimit = (typeof TIMEOUT_LIMITS)[number];

interface Ended {
  readonly durationMs: Millis;
  readonly usage?: Usage;
}

export interface Success extends Ended {
  readonly kind: "success";
  /** The result in words, as the worker reports it. */
  readonly summary?: string;
  /** What it gives back for the tasks that need it: any JSON value of a bounded size. */
  readonly result?: unknown;
  /** No worker did it: a task with the same idempotency key had been done, and this is its result. */
  readonly takenFrom?: TaskRef;
}
/** A task of any run. */
export interface TaskRef {
  readonly run: RunId;
  readonly task: TaskId;
}
export interface ExitFailure extends Ended {
  readonly kind: "exit";
  readonly code: number;
  /** A shell gives this code, too, for a process that this signal ended. */
  readonly maybeSignal?: string;
  /** What its worker says of it. */
  readonly message?: string;
}
export interface SignalFailure extends Ended {
  readonly kind: "signal";
  readonly signal: string;
  /** Set when Rota itself sent the signal because the task went over a limit of its own. */
  readonly limit?: "memory";
}
export interface TimeoutFailure extends Ended {
  readonly kind: "timeout";
  readonly limit: TimeoutLimit;
}
/** The command could not be started at all: a typing mistake does not heal by waiting. */
export interface SpawnFailure extends Ended {
  readonly kind: "spawn";
  readonly message: string;
}
/** The provider said when it will take work again. */
export interface RateLimitFailure extends Ended {
  readonly kind: "rate-limit";
  readonly resetMs?: Millis;
}
/** The acceptance command failed, although the task itself succeeded. */
export interface VerifyFailure extends Ended {
  readonly kind: "verify";
  readonly code: number | null;
}
/** `shortage`: the machine had too little left (processes, memory, files, disk) to begin; nothing of the task ran. */
export interface OtherFailure extends Ended {
  readonly kind: "lost" | "quota" | "auth" | "refused" | "shutdown" | "cancelled" | "budget" | "shortage";
  readonly message?: string;
}

export type Failure =
  | ExitFailure
  | SignalFailure
  | TimeoutFailure
  | SpawnFailure
  | RateLimitFailure
  | VerifyFailure
  | OtherFailure;
/** How an attempt ended. */
export type Outcome = Success | Failure;

/** One short phrase for people: what happened, without why it matters. */
export function describeOutcome(outcome: Outcome): string {
  switch (outcome.kind) {
    case "success":
      return outcome.takenFrom === undefined ? "succeeded" : `took the result of ${refText(outcome.takenFrom)}`;
    case "exit":
      return describeExit(outcome);
    case "signal":
      return outcome.limit === "memory" ? "went over its memory limit" : `killed by ${outcome.signal}`;
    case "timeout":
      return `${outcome.limit} time-out`;
    case "spawn":
      return `could not start: ${outcome.message}`;
    case "rate-limit":
      return "rate limited";
    case "verify":
      return outcome.code === null ? "verify was stopped" : `verify exited with ${outcome.code}`;
    default:
      return outcome.message === undefined ? outcome.kind : `${outcome.kind}: ${outcome.message}`;
  }
}

function describeExit({ code, maybeSignal, message }: ExitFailure): string {
  const perhaps = maybeSignal === undefined ? "" : ` (perhaps ${maybeSignal})`;
  return `exit code ${code}${perhaps}${message === undefined ? "" : `: ${message}`}`;
}

/** `build of run release-1`. */
export const refText = ({ run, task }: TaskRef): string => `${task} of run ${run}`;

/** Whether it is the result of another task, and no attempt's. */
export const isTaken = (outcome: Outcome): outcome is Success & { readonly takenFrom: TaskRef } =>
  outcome.kind === "success" && outcome.takenFrom !== undefined;

/** The outcome of a task whose result was taken from another one with the same key. It used no worker's time. */
export const takenFrom = (
  from: TaskRef,
  { summary, result }: Pick<Success, "summary" | "result"> = {},
): Success & { readonly takenFrom: TaskRef } => ({
  kind: "success",
  durationMs: millis(0),
  ...(summary !== undefined && { summary }),
  ...(result !== undefined && { result }),
  takenFrom: from,
});

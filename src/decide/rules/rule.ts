/** What follows from how an attempt ended. Workers report facts, and only this file decides what they mean. */
import type { TaskNews } from "../../domain/event.ts";
import type { WorkerId } from "../../domain/ids.ts";
import { EXPIRIES_MAX } from "../../domain/lease.ts";
import type { Failure, Outcome } from "../../domain/outcome.ts";
import type { RetryPolicy } from "../../domain/spec.ts";
import { cancellerOf, isHeld, type Task } from "../../domain/task.ts";
import { type Instant, instant, later, type Millis, millis } from "../../domain/time.ts";
import { FAILURE_POLICY } from "./policy.ts";

/** Back-off after an outcome that costs no attempt and names no time of its own. */
const FREE_RETRY_DELAY = millis(1_000);

/** The event that settles the attempt. `jitter` is uniform in [0, 1), so that spreading retries is an input and not an effect. */
export function rule(task: Task, outcome: Outcome, now: Instant, jitter: number): TaskNews {
  const canceller = cancellerOf(task.status);
  if (outcome.kind === "cancelled" || canceller !== undefined) {
    return { kind: "cancelled", asked: canceller ?? { by: "the worker" }, outcome };
  }
  if (outcome.kind === "success") return { kind: "succeeded", outcome };
  const policy = FAILURE_POLICY[outcome.kind];
  const { retry } = task.spec;
  switch (policy.again) {
    case "always": {
      const notBefore = later(now, freeDelay(outcome, jitter));
      // The worker is gone, which counts as an expired lease: retrying without a limit would be too often.
      if (outcome.kind === "lost" && isHeld(task.status)) {
        return { kind: "expired", worker: task.status.lease.worker, notBefore, outcome };
      }
      return { kind: "retried", outcome, notBefore, costs: policy.costs };
    }
    case "budget": {
      if (!isWorthRetrying(outcome, retry)) return { kind: "failed", outcome, reason: "permanent" };
      const failures = task.failures + 1;
      if (failures >= retry.attempts) return { kind: "failed", outcome, reason: "abandoned" };
      return { kind: "retried", outcome, notBefore: later(now, backoff(retry, failures, jitter)), costs: policy.costs };
    }
    case "never":
      if (policy.parks) return { kind: "parked", reason: "attention", outcome };
      return { kind: "failed", outcome, reason: "permanent" };
  }
}

/** The event that ends a lease whose holder is gone, when nothing is known of how the work ended. */
export function ruleOnLoss({ status }: Task, worker: WorkerId, notBefore: Instant): TaskNews {
  const canceller = cancellerOf(status);
  return canceller === undefined ? { kind: "expired", worker, notBefore } : { kind: "cancelled", asked: canceller };
}

/** The event that ends a lease whose holder hands the task back. */
export function ruleOnRelease({ status }: Task, why: string): TaskNews {
  const canceller = cancellerOf(status);
  return canceller === undefined ? { kind: "released", why } : { kind: "cancelled", asked: canceller };
}

/** Its lease was lost so often in a row that the task itself is taken to be the cause: it waits for a person. */
export const isPoison = ({ status, expiries }: Task): boolean => status.state === "ready" && expiries >= EXPIRIES_MAX;

/** Full jitter: any span up to a delay that doubles each time, so that tasks that failed together do not return together. */
export function backoff(retry: RetryPolicy, failures: number, jitter: number): Millis {
  // Zero stays zero however often it doubles: the growth itself may be past all numbers by then.
  const grown = retry.backoff === 0 ? 0 : retry.backoff * retry.factor ** (failures - 1);
  const ceiling = Math.floor(Math.min(retry.max, grown));
  return millis(Math.floor(jitter * (ceiling + 1)));
}

/** `retry.on` lists exit codes, so only an exit can be outside it. A code that may stand for a signal is taken for one. */
const isWorthRetrying = (outcome: Failure, retry: RetryPolicy): boolean =>
  outcome.kind !== "exit" ||
  outcome.maybeSignal !== undefined ||
  retry.on.length === 0 ||
  retry.on.includes(outcome.code);

function freeDelay(outcome: Failure, jitter: number): Millis {
  if (outcome.kind === "shutdown") return millis(0);
  if (outcome.kind === "rate-limit" && outcome.resetMs !== undefined) return outcome.resetMs;
  return millis(Math.floor(jitter * FREE_RETRY_DELAY));
}

/** A number in [0, 1) that is the same whenever the same attempt is judged again, without a stream of random numbers to keep in step. */
export function jitterOf(seed: number, task: number, attempt: number): number {
  let mixed = (seed ^ Math.imul(task + 1, 0x9e3779b1) ^ Math.imul(attempt + 1, 0x85ebca6b)) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
}

/** When a lost task may be claimed again: not before the old holder must have stopped itself. */
export const afterLoss = (deadline: Instant, now: Instant): Instant => instant(Math.max(deadline, now));

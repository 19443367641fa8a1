/** How long an attempt may take, be silent, or go without a heartbeat, and what happens then. */
import { isExpired } from "../../domain/lease.ts";
import { isHeld, type Running, type Status, type StopReason, type Task, type Verifying } from "../../domain/task.ts";
import { earliest, type Instant, later, type Millis, millis, minutes } from "../../domain/time.ts";

/** Which limit of an attempt has been reached. */
export type Overdue =
  | { readonly kind: "expired" }
  | { readonly kind: "stop"; readonly reason: StopReason }
  | { readonly kind: "silent"; readonly for: Millis };

/** What the engine knows of a live attempt beside its status. */
export interface LifeSigns {
  /** When it last gave a sign of life. */
  readonly progressAt: Instant;
  /** Whether its silence has been reported already. */
  readonly silenceReported: boolean;
  /** By how much the clock was set forward since the work began, and since the last sign of life: this time did not really pass. */
  readonly leaptSinceBegun: Millis;
  readonly leaptSinceProgress: Millis;
}

/** The earliest moment at which this held task has to be looked at. Time-outs are multiplied by `timeoutFactor`, which grows under pressure. */
export function nextDeadline(
  task: Task,
  signs: LifeSigns | undefined,
  timeoutFactor = 1,
  stuckAfter = STUCK_AFTER,
): Instant | undefined {
  const { status } = task;
  if (!isHeld(status)) return undefined;
  // One past the deadline: a lease holds up to and including it.
  const expiry = later(status.lease.deadline, millis(1));
  if (!hasBegun(status)) return expiry;
  return earliest(expiry, nextLimit(task, signs, timeoutFactor)?.at, nextSilence(task, signs, stuckAfter)?.at);
}

/** What must happen to the held task now, if anything. */
export function overdue(
  task: Task,
  signs: LifeSigns | undefined,
  now: Instant,
  timeoutFactor = 1,
  stuckAfter = STUCK_AFTER,
): Overdue | undefined {
  const { status } = task;
  if (!isHeld(status)) return undefined;
  if (isExpired(status.lease, now)) return { kind: "expired" };
  if (!hasBegun(status)) return undefined;
  const limit = nextLimit(task, signs, timeoutFactor);
  if (limit !== undefined && limit.at <= now) return { kind: "stop", reason: { kind: "timeout", limit: limit.limit } };
  const silence = nextSilence(task, signs, stuckAfter);
  if (silence === undefined || silence.at > now) return undefined;
  if (silence.reclaims) return { kind: "stop", reason: { kind: "timeout", limit: "progress" } };
  return { kind: "silent", for: millis(now - silence.since) };
}

/** Time-outs are counted from when the work began. For the acceptance command they are counted anew. */
const hasBegun = (status: Status): status is Running | Verifying =>
  status.state === "running" || (status.state === "verifying" && status.begun === true);

/** How long an agent may be silent before that is reported, unless the plan says otherwise. */
export const STUCK_AFTER = minutes(5);
/** An agent that stays silent for this many times as long is stopped: a quiet compiler works, a quiet agent is stuck. */
const RECLAIM_AFTER = 3;

/** When its silence has to be reported next, or ended. */
function nextSilence(
  { spec, status }: Task,
  signs: LifeSigns | undefined,
  stuckAfter: Millis,
): { readonly at: Instant; readonly since: Instant; readonly reclaims: boolean } | undefined {
  const span = spec.progress ?? (spec.pool === undefined ? undefined : stuckAfter);
  if (span === undefined || signs === undefined || status.state !== "running" || status.stopping !== undefined)
    return undefined;
  const { silenceReported } = signs;
  const since = later(signs.progressAt, signs.leaptSinceProgress);
  if (!silenceReported) return { at: later(since, span), since, reclaims: false };
  return spec.pool === undefined
    ? undefined
    : { at: later(since, millis(span * RECLAIM_AFTER)), since, reclaims: true };
}

/** The next time-out that has not fired yet: soft first, then hard, then none. */
function nextLimit(
  { status, spec }: Task,
  signs: LifeSigns | undefined,
  timeoutFactor: number,
): { readonly at: Instant; readonly limit: "soft" | "hard" } | undefined {
  if (!hasBegun(status)) return undefined;
  const { soft, hard } = spec.timeout;
  const stopped = status.stopping;
  const begun = later(status.since, signs?.leaptSinceBegun ?? millis(0));
  if (stopped === undefined && soft !== undefined && soft < hard)
    return { at: later(begun, millis(soft * timeoutFactor)), limit: "soft" };
  const hardPassed = stopped !== undefined && !(stopped.kind === "timeout" && stopped.limit === "soft");
  return hardPassed ? undefined : { at: later(begun, millis(hard * timeoutFactor)), limit: "hard" };
}

/** How long an attempt may take, be silent, or go without a heartbeat, and what happens then. */
import { isExpired } from "../domain/lease.ts";
import { isHeld, type StopReason, type Task } from "../domain/task.ts";
import { type Instant, later, type Millis, millis } from "../domain/time.ts";

/** What an attempt's time has come for. */
export type Overdue =
  | { readonly kind: "expired" }
  | { readonly kind: "stop"; readonly reason: StopReason }
  | { readonly kind: "silent"; readonly for: Millis };

/** What the engine knows of a live attempt beside its status. */
export interface LifeSigns {
  /** When it last gave one. */
  readonly progressAt: Instant;
  /** Whether its silence has been reported already. */
  readonly silenceReported: boolean;
}

/** The earliest moment at which this held task has to be looked at. Time-outs are multiplied by `patience`. */
export function nextDeadline(task: Task, signs: LifeSigns | undefined, patience = 1): Instant | undefined {
  const { status, spec } = task;
  if (!isHeld(status)) return undefined;
  // One past the deadline: a lease holds up to and including it.
  const moments: number[] = [status.lease.deadline + 1];
  if (status.state === "running") {
    const limit = nextLimit(task, patience);
    if (limit !== undefined) moments.push(limit.at);
    if (spec.progress !== undefined && signs !== undefined && !signs.silenceReported && status.stopping === undefined) {
      moments.push(signs.progressAt + spec.progress);
    }
  }
  return Math.min(...moments) as Instant;
}

/** What must happen to the held task now, if anything. */
export function overdue(task: Task, signs: LifeSigns | undefined, now: Instant, patience = 1): Overdue | undefined {
  const { status, spec } = task;
  if (!isHeld(status)) return undefined;
  if (isExpired(status.lease, now)) return { kind: "expired" };
  if (status.state !== "running") return undefined;
  const limit = nextLimit(task, patience);
  if (limit !== undefined && limit.at <= now) return { kind: "stop", reason: { kind: "timeout", limit: limit.limit } };
  const isSpoken = signs === undefined || signs.silenceReported || status.stopping !== undefined;
  if (spec.progress === undefined || isSpoken) return undefined;
  const silent = millis(now - signs.progressAt);
  return silent >= spec.progress ? { kind: "silent", for: silent } : undefined;
}

/** The next time-out that is still to come: soft first, then hard, then none. */
function nextLimit(
  { status, spec }: Task,
  patience: number,
): { readonly at: Instant; readonly limit: "soft" | "hard" } | undefined {
  if (status.state !== "running") return undefined;
  const { soft, hard } = spec.timeout;
  const stopped = status.stopping;
  if (stopped === undefined && soft !== undefined && soft < hard)
    return { at: later(status.since, millis(soft * patience)), limit: "soft" };
  const hardPassed = stopped !== undefined && !(stopped.kind === "timeout" && stopped.limit === "soft");
  return hardPassed ? undefined : { at: later(status.since, millis(hard * patience)), limit: "hard" };
}

/** Whether a run has come to an end, or cannot go on by itself. */

import { type Run, type RunEnd, type RunStall, remaining } from "../../domain/run.ts";
import { awaitsApproval } from "../../domain/waiting/needs.ts";

export type RunVerdict =
  | { readonly kind: "going" }
  | { readonly kind: "finished"; readonly outcome: RunEnd }
  | { readonly kind: "stalled"; readonly remaining: number; readonly outcome: RunStall };

/** `canMove`: whether some ready task could be claimed now or later without a person's help. Asked only when no worker works. */
export function judgeRun(run: Run, canMove: () => boolean): RunVerdict {
  const { counts } = run;
  const left = remaining(run);
  if (left === 0) return { kind: "finished", outcome: outcomeOf(run) };
  const going = counts.claimed + counts.running + counts.verifying > 0 || (counts.ready > 0 && canMove());
  return going ? { kind: "going" } : { kind: "stalled", remaining: left, outcome: stallOf(run) };
}

/** One task that a person can move is enough: the other tasks are judged again once it has been moved. */
const stallOf = ({ counts, tasks }: Run): RunStall =>
  counts.parked > 0 || tasks.some(awaitsApproval) ? "waiting" : "deadlock";

/** A run with a failed task has failed even when the rest was cancelled. */
function outcomeOf({ counts, cancelling }: Run): RunEnd {
  if (counts.failed > 0) return "failed";
  return counts.cancelled > 0 || cancelling ? "cancelled" : "succeeded";
}

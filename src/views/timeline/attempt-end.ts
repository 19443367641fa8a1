/** How attempts end, by the events of the ledger. */
import type { TaskEvent } from "../../domain/event.ts";
import { unreachable } from "../../std/invariant.ts";

export const ATTEMPT_ENDS = [
  "succeeded",
  "failed",
  "retried",
  "lost",
  "released",
  "parked",
  "cancelled",
  "running",
] as const;
/** How an attempt ended for the task; `running` when it has not. */
export type AttemptEnd = (typeof ATTEMPT_ENDS)[number];

/** How the event ends the running attempt, if it does. */
export function endOf({ kind }: TaskEvent): AttemptEnd | undefined {
  switch (kind) {
    case "succeeded":
    case "failed":
    case "retried":
    case "released":
    case "parked":
    case "cancelled":
      return kind;
    case "expired":
      return "lost";
    case "claimed":
    case "started":
    case "lease_renewed":
    case "stopping":
    case "verifying":
    case "skipped":
    case "requeued":
    case "approved":
    case "silent":
    case "aged_boost":
    case "priority_inherited":
    case "priority_inversion":
    case "waiting":
    case "set_back":
    case "late_report_refused":
    case "offered":
    case "offer_ended":
    case "starving":
    case "spawn_asked":
    case "starved":
    case "edited":
    case "noted":
      return undefined;
    default:
      return unreachable(kind);
  }
}

/** How attempts end, as the ledger tells it. */
import type { TaskEvent } from "../domain/event.ts";
import { unreachable } from "../std/invariant.ts";

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

/** What the event makes of the attempt that is out, if it ends it. */
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

/** How an attempt ended, as an object for programs. */
import type { Outcome } from "../domain/outcome.ts";
import { describeOutcome } from "../domain/outcome.ts";

export function outcomeJson(outcome: Outcome): object {
  const { kind, durationMs, usage } = outcome;
  return {
    kind,
    message: describeOutcome(outcome),
    ...detail(outcome),
    duration_ms: durationMs,
    ...(usage?.cpuMs !== undefined && { cpu_ms: usage.cpuMs }),
    ...(usage?.peakBytes !== undefined && { peak_bytes: usage.peakBytes }),
  };
}

/** What only some kinds have. */
function detail(outcome: Outcome): object {
  switch (outcome.kind) {
    case "success":
      return outcome.summary === undefined ? {} : { summary: outcome.summary };
    case "exit":
    case "verify":
      return { code: outcome.code };
    case "signal":
      return { signal: outcome.signal, ...(outcome.limit !== undefined && { limit: outcome.limit }) };
    case "timeout":
      return { limit: outcome.limit };
    case "rate-limit":
      return outcome.resetMs === undefined ? {} : { reset_ms: outcome.resetMs };
    default:
      return {};
  }
}

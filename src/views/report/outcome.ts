/** How an attempt ended, as an object for programs. */
import type { Outcome } from "../../domain/outcome.ts";
import { describeOutcome } from "../../domain/outcome.ts";
import type { OutcomeReply } from "../../wire/replies/attempt.ts";

export function outcomeJson(outcome: Outcome): OutcomeReply {
  const { kind, durationMs, usage } = outcome;
  const message = describeOutcome(outcome);
  const used = {
    duration_ms: durationMs,
    ...(usage?.cpuMs !== undefined && { cpu_ms: usage.cpuMs.amount }),
    ...(usage?.peakBytes !== undefined && { peak_bytes: usage.peakBytes.amount }),
  };
  switch (kind) {
    case "success":
      return {
        kind,
        message,
        ...(outcome.summary !== undefined && { summary: outcome.summary }),
        ...(outcome.result !== undefined && { result: outcome.result }),
        ...(outcome.takenFrom !== undefined && { taken_from: outcome.takenFrom }),
        ...used,
      };
    case "exit": {
      const perhaps = outcome.maybeSignal === undefined ? {} : { maybe_signal: outcome.maybeSignal };
      return { kind, message, code: outcome.code, ...perhaps, ...used };
    }
    case "verify":
      return { kind, message, code: outcome.code, ...used };
    case "signal": {
      const limit = outcome.limit === undefined ? {} : { limit: outcome.limit };
      return { kind, message, signal: outcome.signal, ...limit, ...used };
    }
    case "timeout":
      return { kind, message, limit: outcome.limit, ...used };
    case "rate-limit":
      return { kind, message, ...(outcome.resetMs !== undefined && { reset_ms: outcome.resetMs }), ...used };
    default:
      return { kind, message, ...used };
  }
}

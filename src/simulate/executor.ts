/** Work that takes exactly as long as it should, on a virtual clock. */
import type { Outcome } from "../domain/outcome.ts";
import type { StopReason } from "../domain/task.ts";
import { type Instant, later, type Millis, millis } from "../domain/time.ts";
import type { Clock } from "../effects/clock.ts";
import type { Attempt, Executor, Handle } from "../execute/executor.ts";

/** How long the attempt really takes, whatever the plan estimates. */
export type Duration = (attempt: Attempt) => Millis;

/** It does not report that an attempt has started: the claim is made at the same moment, and a report would only wake the engine once more. */
export function simulatedExecutor(clock: Clock, duration: Duration): Executor {
  const start = (attempt: Attempt): Handle => {
    const ended = Promise.withResolvers<Outcome>();
    const startedAt = clock.now();
    const end = clock.at(later(startedAt, duration(attempt)), () =>
      ended.resolve({ kind: "success", durationMs: took(startedAt, clock) }),
    );
    const stop = (reason: StopReason): void => {
      end.cancel();
      const durationMs = took(startedAt, clock);
      ended.resolve(
        reason.kind === "timeout"
          ? { kind: "timeout", limit: reason.limit, durationMs }
          : { kind: reason.kind, durationMs },
      );
    };
    return { outcome: ended.promise, stop };
  };
  return {
    start,
    adopt: async () => undefined,
    sweep: async () => 0,
    [Symbol.asyncDispose]: async () => {},
  };
}

const took = (from: Instant, clock: Clock): Millis => millis(clock.now() - from);

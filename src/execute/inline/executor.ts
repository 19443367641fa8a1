/** Runs attempts as functions of this very process: for programs that embed Rota, for tests, and to measure what the engine itself costs. */
import type { Outcome } from "../../domain/outcome.ts";
import type { StopReason } from "../../domain/task.ts";
import { millis } from "../../domain/time.ts";
import type { Attempt, Executor, Handle, Watch } from "../executor.ts";

/** Does the work of one attempt. `stopped` is kept when the attempt should end; what is returned afterwards does not count. */
export type Handler = (attempt: Attempt, stopped: Promise<StopReason>, watch: Watch) => Outcome | Promise<Outcome>;

export function openInlineExecutor(handler: Handler): Executor {
  const start = (attempt: Attempt, watch: Watch): Handle => {
    const stop = Promise.withResolvers<StopReason>();
    const work = async (): Promise<Outcome> => handler(attempt, stop.promise, watch);
    const outcome = Promise.race([work().catch(asFailure), stop.promise.then(outcomeOfStop)]);
    return { outcome, stop: (reason) => stop.resolve(reason) };
  };
  return {
    start,
    // A function does not outlive its process, so there is never anything to take over or to sweep away.
    adopt: async () => undefined,
    sweep: async () => 0,
    [Symbol.asyncDispose]: async () => {},
  };
}

const asFailure = (error: unknown): Outcome => ({
  kind: "refused",
  message: error instanceof Error ? error.message : String(error),
  durationMs: millis(0),
});

/** How an attempt ends that was told to. */
function outcomeOfStop(reason: StopReason): Outcome {
  const durationMs = millis(0);
  return reason.kind === "timeout"
    ? { kind: "timeout", limit: reason.limit, durationMs }
    : { kind: reason.kind, durationMs };
}

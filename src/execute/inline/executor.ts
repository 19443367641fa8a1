/** Runs attempts as functions of this very process: for programs that embed Rota, for tests, and to measure what the engine itself costs. */
import type { Outcome } from "../../domain/outcome.ts";
import type { StopReason } from "../../domain/task.ts";
import { millis } from "../../domain/time.ts";
import type { Attempt, Executor, Handle, Saying, Watch } from "../executor.ts";
import { Sayings, saying } from "../sayings.ts";

/** What a handler is given besides the attempt. */
export interface Control extends Watch {
  /** Kept when the attempt should end; what is returned afterwards does not count. */
  readonly stopped: Promise<StopReason>;
}

/** Does the work of one attempt. */
export type Handler = (attempt: Attempt, control: Control) => Outcome | Promise<Outcome>;

export function openInlineExecutor(handler: Handler): Executor {
  return {
    start: (attempt, watch) => new InlineAttempt(handler, attempt, watch),
    // A function does not outlive its process, so there is never anything to take over or to sweep away.
    adopt: async () => undefined,
    sweep: async () => 0,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Makes only the promises that somebody asks for: many functions are done at once, and most never look whether they should stop. */
class InlineAttempt implements Handle, Control {
  readonly outcome: Promise<Outcome>;
  readonly #watch: Watch;
  #settle: ((outcome: Outcome) => void) | undefined;
  #stop: PromiseWithResolvers<StopReason> | undefined;
  #reason: StopReason | undefined;
  readonly #log: string;
  #sayings: Sayings | undefined;

  constructor(handler: Handler, attempt: Attempt, watch: Watch) {
    this.#watch = watch;
    this.#log = attempt.log;
    const result = this.#begin(handler, attempt);
    this.outcome = result instanceof Promise ? this.#follow(result) : Promise.resolve(result);
  }

  #begin(handler: Handler, attempt: Attempt): Outcome | Promise<Outcome> {
    try {
      return handler(attempt, this);
    } catch (error) {
      return asFailure(error);
    }
  }

  #follow(result: Promise<Outcome>): Promise<Outcome> {
    return new Promise((settle) => {
      this.#settle = settle;
      result.then(settle, (error: unknown) => settle(asFailure(error)));
    });
  }

  get stopped(): Promise<StopReason> {
    this.#stop ??= Promise.withResolvers();
    if (this.#reason !== undefined) this.#stop.resolve(this.#reason);
    return this.#stop.promise;
  }

  started(process: Parameters<Watch["started"]>[0]): void {
    this.#watch.started(process);
  }

  progressed(): void {
    this.#watch.progressed();
  }

  said({ text }: Saying): void {
    const said = saying(text);
    if (said === undefined) return;
    this.#sayings ??= new Sayings(this.#log);
    this.#sayings.keep(said);
    this.#watch.said(said);
  }

  stop(reason: StopReason): void {
    this.#reason ??= reason;
    this.#stop?.resolve(this.#reason);
    this.#settle?.(outcomeOfStop(this.#reason));
  }
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

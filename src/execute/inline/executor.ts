/** Runs attempts as functions of this very process: for programs that embed Rota, for tests, and to measure what the engine itself costs. */
import type { Outcome } from "../../domain/outcome.ts";
import type { StopReason } from "../../domain/task.ts";
import { between, type Instant, later, type Millis, millis, seconds } from "../../domain/time.ts";
import { type Clock, systemClock, type Timer } from "../../effects/clock.ts";
import type { Attempt, Executor, Handle, Saying, Watch } from "../executor.ts";
import { Sayings, saying } from "../sayings.ts";

/** What a handler is given besides the attempt. */
export interface Control extends Watch {
  /** Resolves when the attempt should end. What the function returns afterwards does not count. */
  readonly stopped: Promise<StopReason>;
}

/** Does the work of one attempt. */
export type Handler = (attempt: Attempt, control: Control) => Outcome | Promise<Outcome>;

export interface InlineOptions {
  readonly clock?: Clock;
  /** How long functions have to end when the executor is disposed of. */
  readonly grace?: Millis;
}

const GRACE = seconds(5);

/** A function cannot be killed. If it has not ended when its grace is over, it runs on, and its attempt ends all the same for the reason given. */
export function openInlineExecutor(handler: Handler, options: InlineOptions = {}): Executor {
  const { clock = systemClock(), grace = GRACE } = options;
  const live = new Set<InlineAttempt>();
  let isDisposed = false;
  return {
    start: (attempt, watch) => (isDisposed ? TOO_LATE : new InlineAttempt({ handler, attempt, watch, clock, live })),
    // A function does not outlive its process, so there is never anything to take over or to sweep away.
    adopt: async () => undefined,
    sweep: async () => 0,
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      const running = [...live];
      for (const each of running) each.stop({ kind: "shutdown" }, grace);
      await Promise.all(running.map(({ outcome }) => outcome));
    },
  };
}

interface InlineParts {
  readonly handler: Handler;
  readonly attempt: Attempt;
  readonly watch: Watch;
  readonly clock: Clock;
  /** The attempts whose function has not ended; this one is among them until then. */
  readonly live: Set<InlineAttempt>;
}

/** Makes each part only when it is asked for: many functions end at once, and most never check whether they should stop. */
class InlineAttempt implements Handle, Control {
  readonly outcome: Promise<Outcome>;
  readonly #watch: Watch;
  readonly #clock: Clock;
  #since: Instant | undefined;
  #settle: ((outcome: Outcome) => void) | undefined;
  #stop: PromiseWithResolvers<StopReason> | undefined;
  #reason: StopReason | undefined;
  #kill: { readonly at: Instant; readonly timer: Timer } | undefined;
  readonly #log: string;
  #sayings: Sayings | undefined;

  constructor({ handler, attempt, watch, clock, live }: InlineParts) {
    this.#watch = watch;
    this.#clock = clock;
    this.#log = attempt.log;
    const result = this.#begin(handler, attempt);
    this.outcome = result instanceof Promise ? this.#follow(result, live) : Promise.resolve(result);
  }

  #begin(handler: Handler, attempt: Attempt): Outcome | Promise<Outcome> {
    try {
      return handler(attempt, this);
    } catch (error) {
      return asFailure(error);
    }
  }

  #follow(result: Promise<Outcome>, live: Set<InlineAttempt>): Promise<Outcome> {
    this.#since = this.#clock.now();
    live.add(this);
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    this.#settle = (outcome) => {
      live.delete(this);
      this.#kill?.timer.cancel();
      this.#settle = undefined;
      resolve(outcome);
    };
    const end = (outcome: Outcome): void =>
      this.#settle?.(this.#reason === undefined ? outcome : this.#stoppedFor(this.#reason));
    result.then(end, (error: unknown) => end(asFailure(error)));
    return promise;
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

  /** The first reason stays, except that a hard limit replaces a soft one. The grace can only become shorter. */
  stop(reason: StopReason, grace: Millis): void {
    if (this.#settle === undefined) return;
    if (this.#reason === undefined || isHarder(reason, this.#reason)) this.#reason = reason;
    this.#stop?.resolve(this.#reason);
    const giveUp = (): void => this.#settle?.(this.#stoppedFor(this.#reason ?? reason));
    if (grace <= 0) return giveUp();
    const at = later(this.#clock.now(), grace);
    if (this.#kill !== undefined && this.#kill.at <= at) return;
    this.#kill?.timer.cancel();
    this.#kill = { at, timer: this.#clock.at(at, giveUp) };
  }

  #stoppedFor(reason: StopReason): Outcome {
    return outcomeOfStop(reason, between(this.#since ?? this.#clock.now(), this.#clock.now()));
  }
}

const isHarder = (reason: StopReason, than: StopReason): boolean =>
  reason.kind === "timeout" && reason.limit === "hard" && than.kind === "timeout";

const asFailure = (error: unknown): Outcome => ({
  kind: "refused",
  message: error instanceof Error ? error.message : String(error),
  durationMs: millis(0),
});

/** How an attempt ends that was told to. */
function outcomeOfStop(reason: StopReason, durationMs: Millis): Outcome {
  return reason.kind === "timeout"
    ? { kind: "timeout", limit: reason.limit, durationMs }
    : { kind: reason.kind, durationMs };
}

/** What is started after the end. */
const TOO_LATE: Handle = {
  outcome: Promise.resolve(outcomeOfStop({ kind: "shutdown" }, millis(0))),
  stop() {},
};

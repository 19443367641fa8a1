/** An attempt as the scheduler holds it: whom to tell, and a promise that is kept once. */
import type { Outcome } from "../../domain/outcome.ts";
import type { ProcessIdentity, StopReason } from "../../domain/task.ts";
import { type Instant, type Millis, millis } from "../../domain/time.ts";
import type { Handle, Watch } from "../executor.ts";

export class Bound implements Handle {
  readonly key: string;
  readonly watch: Watch;
  readonly startedAt: Instant;
  readonly outcome: Promise<Outcome>;
  /** Asks whoever runs it. */
  ask: ((reason: StopReason, grace: Millis) => void) | undefined;
  /** Known from `started` on. */
  process: ProcessIdentity | undefined;
  #settle!: (outcome: Outcome) => void;

  constructor(key: string, watch: Watch, startedAt: Instant) {
    this.key = key;
    this.watch = watch;
    this.startedAt = startedAt;
    this.outcome = new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  stop(reason: StopReason, grace: Millis): void {
    this.ask?.(reason, grace);
  }

  started(process: ProcessIdentity | undefined): void {
    this.process = process;
    this.watch.started(process);
  }

  settle(outcome: Outcome): void {
    this.ask = undefined;
    this.#settle(outcome);
  }

  lost(message: string, now: Instant): void {
    this.settle({ kind: "lost", message, durationMs: millis(now - this.startedAt) });
  }
}

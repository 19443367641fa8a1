/** What each kind of failure means for the task: one table for every worker and agent. */
import type { FailureKind } from "../../domain/outcome.ts";

interface FailurePolicy {
  /** `budget`: as often as the task's attempts allow. `always`: not the task's fault, under limits of its own. */
  readonly again: "budget" | "always" | "never";
  /** Whether the try counts against the task's attempts. */
  readonly costs: boolean;
  /** Waits for a person instead of failing, once it is not tried again. */
  readonly parks: boolean;
  /** Whether it says something about the service the task depends on, and so counts towards opening its breaker. */
  readonly service: boolean;
}

export const FAILURE_POLICY: Readonly<Record<FailureKind, FailurePolicy>> = {
  exit: { again: "budget", costs: true, parks: false, service: true },
  signal: { again: "budget", costs: true, parks: false, service: true },
  timeout: { again: "budget", costs: true, parks: false, service: true },
  verify: { again: "budget", costs: true, parks: false, service: false },
  // A command that is not there will not be there in a second either.
  spawn: { again: "never", costs: true, parks: false, service: false },
  cancelled: { again: "never", costs: false, parks: false, service: false },
  lost: { again: "always", costs: false, parks: false, service: false },
  // The machine's fault: it has to wait, and the task has lost nothing.
  shortage: { again: "always", costs: false, parks: false, service: false },
  shutdown: { again: "always", costs: false, parks: false, service: false },
  "rate-limit": { again: "always", costs: false, parks: false, service: true },
  // These three are about an account, not about the task: a person has to look.
  quota: { again: "never", costs: false, parks: true, service: true },
  auth: { again: "never", costs: false, parks: true, service: true },
  budget: { again: "never", costs: false, parks: true, service: false },
  refused: { again: "budget", costs: true, parks: false, service: true },
};

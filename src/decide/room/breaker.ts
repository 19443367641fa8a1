/** Leaves a service alone that keeps failing, and tries carefully whether it is back. */
import { type Instant, later, seconds } from "../../domain/time.ts";

export const BREAKER_FAILURES = 5;
export const BREAKER_OPEN = seconds(60);
export const BREAKER_TRIALS = 3;
const BREAKER_CLOSE_SHARE = 0.67;

export type Breaker =
  | { readonly state: "closed"; readonly failures: number }
  | { readonly state: "open"; readonly until: Instant; readonly failures: number }
  /** Trials that run, how many came back well, and how many failures in a row opened the breaker. */
  | { readonly state: "half-open"; readonly out: number; readonly succeeded: number; readonly failures: number };

export const CLOSED: Breaker = { state: "closed", failures: 0 };

/** Whether another task may be sent now. */
export function admits(breaker: Breaker, now: Instant): boolean {
  switch (breaker.state) {
    case "closed":
      return true;
    case "open":
      return now >= breaker.until;
    case "half-open":
      return breaker.out + breaker.succeeded < BREAKER_TRIALS;
  }
}

/** A task is sent. A task that was sent before the breaker opened, and is recorded only now, is no trial. */
export function sent(breaker: Breaker, now: Instant): Breaker {
  if (breaker.state === "closed" || !admits(breaker, now)) return breaker;
  if (breaker.state === "open") return { state: "half-open", out: 1, succeeded: 0, failures: breaker.failures };
  return { ...breaker, out: breaker.out + 1 };
}

/** An attempt has ended: the service worked, the service failed, or the end says nothing about the service. */
export function returned(breaker: Breaker, how: "success" | "failure" | "nothing", now: Instant): Breaker {
  switch (breaker.state) {
    case "closed":
      if (how === "nothing") return breaker;
      if (how === "success") return CLOSED;
      if (breaker.failures + 1 < BREAKER_FAILURES) return { state: "closed", failures: breaker.failures + 1 };
      return open(breaker.failures + 1, now);
    case "open":
      return breaker;
    case "half-open": {
      const out = Math.max(0, breaker.out - 1);
      if (how === "failure") return open(breaker.failures + 1, now);
      // A trial that was abandoned frees its permit.
      if (how === "nothing") return { ...breaker, out };
      const succeeded = breaker.succeeded + 1;
      return succeeded / BREAKER_TRIALS >= BREAKER_CLOSE_SHARE ? CLOSED : { ...breaker, out, succeeded };
    }
  }
}

const open = (failures: number, now: Instant): Breaker => ({
  state: "open",
  until: later(now, BREAKER_OPEN),
  failures,
});

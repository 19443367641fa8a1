/** Time as an argument. Code that waits, or asks what time it is, does so through a `Clock`. */
import { type Instant, instant, type Millis, millis } from "../domain/time.ts";
import { ticks } from "./ticks.ts";

export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Never goes backwards, even when the machine's clock is set back. */
  now(): Instant;
  /** How much of the advance of `now` so far was not passed time: the machine's clock was set forward, or the machine slept. */
  leapt(): Millis;
  /** Calls `then` once, at `at` or as soon after it as possible. */
  at(at: Instant, then: () => void): Timer;
  /** Calls `then` once, after what is already waiting to run has run. */
  soon(then: () => void): void;
}

/** The longest delay the platform's timers take; longer waits are made of several. */
const DELAY_MAX = 2 ** 31 - 1;

/** With `keepsAlive` false the process may end before an alarm has rung: for work that another mechanism finishes in that case. */
export function systemClock({ keepsAlive = true }: { readonly keepsAlive?: boolean } = {}): Clock {
  let last = Date.now();
  let lastTick = ticks();
  let leapt = 0;
  const now = (): Instant => {
    const tick = ticks();
    const passed = last + (tick - lastTick);
    // When the machine's clock is set back, time goes on here: a clock that stood still until the machine's catches up would stop every time-out.
    last = Math.max(passed, Date.now());
    leapt += last - passed;
    lastTick = tick;
    return instant(Math.floor(last));
  };
  return {
    now,
    leapt: () => millis(Math.floor(leapt)),
    at(at, then) {
      let handle: NodeJS.Timeout;
      const arm = (): void => {
        const delay = Math.max(0, at - now());
        handle = setTimeout(ring, Math.min(delay, DELAY_MAX));
        if (!keepsAlive) handle.unref();
      };
      // The platform may ring a moment early, and rings half way when the wait is long.
      const ring = (): void => (now() < at ? arm() : then());
      arm();
      return { cancel: () => clearTimeout(handle) };
    },
    soon: (then) => void setImmediate(then),
  };
}

/** A promise that resolves after `span`. */
export const sleep = (clock: Clock, span: Millis): Promise<void> =>
  new Promise((resolve) => void clock.at(instant(clock.now() + span), resolve));

/**
 * Resolves when every promise that could continue has continued: called from within a promise, the platform's next tick comes only then. A
 * turn of the event loop would do as well, and cost a fifth of a long simulation.
 */
export const promisesDrained = (): Promise<void> => new Promise((resolve) => process.nextTick(resolve));

/**
 * Guessing tokens is slow. All callers over TCP are on this machine, so they are one peer: addresses cost nothing there, and whoever
 * could count each by itself would be outnumbered.
 */
import { UserError } from "../domain/errors.ts";
import { type Instant, later, minutes } from "../domain/time.ts";

const FAILURES_MAX = 10;
const WINDOW = minutes(1);

export class Lockout {
  #failures = 0;
  #ends: Instant | undefined;

  /** Throws while there have been too many wrong tokens: not even the right one is looked at. */
  check(now: Instant): void {
    if (this.#ends !== undefined && now >= this.#ends) [this.#failures, this.#ends] = [0, undefined];
    if (this.#failures >= FAILURES_MAX)
      throw new UserError("LOCKED_OUT", "Too many wrong tokens came from this machine");
  }

  fail(now: Instant): void {
    this.#failures++;
    this.#ends ??= later(now, WINDOW);
  }
}

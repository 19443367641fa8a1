/**
 * Makes guessing tokens slow. All callers over TCP are on this machine, so they count as one peer: a caller there can use any number
 * of addresses, and a count for each address would stop nothing.
 */
import { UserError } from "../domain/errors.ts";
import { type Instant, later, minutes } from "../domain/time.ts";

const FAILURES_MAX = 10;
const WINDOW = minutes(1);

export class Lockout {
  #failures = 0;
  #ends: Instant | undefined;

  /** Throws while there have been too many wrong tokens: even the right token is refused. */
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

/** Renews the term of a scheduler in time, where the store gives terms that end by themselves. */
import { type Instant, later, millis, seconds } from "../domain/time.ts";
import type { Clock, Timer } from "../effects/clock.ts";
import type { Store, Term } from "../store/store.ts";

export interface TermDeps {
  readonly store: Pick<Store, "renew">;
  readonly term: Term;
  readonly clock: Pick<Clock, "now" | "at">;
  /** Called once: another scheduler owns the store, or may own it from now on. */
  readonly lost: () => void;
}

/** How often it is renewed during a term, and the shortest pause where the store does not answer. */
const RENEWALS = 3;
const PAUSE_MIN = seconds(1);

export function keepTerm({ store, term, clock, lost }: TermDeps): Disposable {
  let isClosed = false;
  let timer: Timer | undefined;
  const wait = (held: Term): void => {
    const { expires } = held;
    if (expires === undefined || isClosed) return;
    const left = expires - clock.now();
    if (left <= 0) return lost();
    const pause = Math.min(left, Math.max(PAUSE_MIN, left / RENEWALS));
    timer = clock.at(later(clock.now(), millis(pause)), () => void renew(held, expires));
  };
  const renew = async (held: Term, expires: Instant): Promise<void> => {
    if (clock.now() >= expires) return lost();
    // A store that does not answer now may answer before the term is over.
    const renewed = await store.renew(held).catch(() => undefined);
    if (isClosed) return;
    if (renewed === undefined) wait(held);
    else if (renewed.ok) wait(renewed.value);
    else lost();
  };
  wait(term);
  return {
    [Symbol.dispose]() {
      isClosed = true;
      timer?.cancel();
    },
  };
}

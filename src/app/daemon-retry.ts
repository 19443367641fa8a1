/** Waiting for a daemon: for its answer, and for the daemon itself while it is away. */
import { UserError } from "../domain/errors.ts";
import { type Instant, later, type Millis, millis, seconds } from "../domain/time.ts";
import { type Clock, sleep, systemClock } from "../effects/clock.ts";
import { WAIT_MAX } from "../wire/messages.ts";

/** The pause before a daemon that is away is called again: shorter than a restart takes. */
const PAUSE = millis(100);

/** The errors of a daemon that is being restarted. */
const isAway = (error: unknown): boolean =>
  error instanceof UserError && (error.code === "DAEMON_MISSING" || error.code === "DAEMON_STOPPING");

/** Repeats the call while the daemon is away, for no longer than `wait`. The call must be harmless to repeat. */
export async function retryWhileAway<T>(ask: () => Promise<T>, wait: Millis, clock = systemClock()): Promise<T> {
  const end = later(clock.now(), wait);
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isAway(error) || later(clock.now(), PAUSE) >= end) throw error;
    }
    await sleep(clock, PAUSE);
  }
}

/**
 * Lets the daemon wait for something, for longer than a call may take and across its restarts. If there is no daemon at all, that is
 * reported at once: a person does not want to wait for a typing mistake.
 */
export async function within<T>(
  ask: (waitMs: number) => Promise<T | undefined>,
  wait: Millis,
  clock = systemClock(),
): Promise<T | undefined> {
  const end = later(clock.now(), wait);
  const left = (): Millis => millis(Math.max(0, end - clock.now()));
  let found = await meet(ask, Math.min(wait, WAIT_MAX), left, clock);
  while (found === undefined && left() > 0) {
    const before = clock.now();
    found = await retryWhileAway(() => ask(Math.min(left(), WAIT_MAX)), left(), clock);
    // A daemon that stops answers early: the next call comes after a pause.
    if (found === undefined && left() > 0 && clock.now() < later(before, PAUSE)) await sleep(clock, PAUSE);
  }
  return found;
}

/** The first call. Once it was answered, a daemon that goes away is waited for. */
async function meet<T>(
  ask: (waitMs: number) => Promise<T | undefined>,
  waitMs: number,
  left: () => Millis,
  clock: Clock,
): Promise<T | undefined> {
  try {
    return await ask(waitMs);
  } catch (error) {
    const wasThere = error instanceof UserError && error.code === "DAEMON_STOPPING";
    if (!wasThere || left() === 0) throw error;
    await sleep(clock, PAUSE);
    return undefined;
  }
}

/** How the renewing of a lease ended. */
export type RenewalEnd = "told-to-stop" | "ended";

export interface Renewal {
  readonly every: Millis;
  /** Renews the lease once: its new deadline, and whether the work should be stopped. */
  readonly renew: () => Promise<{ readonly deadline: string; readonly stop?: object }>;
  /** Whether the lease still has to be renewed. */
  readonly isHeld: () => boolean;
  /** The deadline before the first renewal, where it is known. */
  readonly deadline?: string | undefined;
  readonly clock?: Clock;
}

/** Renews until the work is to be stopped or its end was reported. While the daemon is away it waits, until the deadline. */
export async function renewing({
  every,
  renew,
  isHeld,
  deadline: known,
  clock = systemClock(),
}: Renewal): Promise<RenewalEnd> {
  // The answer to the very first call may be lost, and the lease is no shorter for that.
  let deadline = Math.max(later(clock.now(), every), Date.parse(known ?? "") || 0) as Instant;
  while (isHeld()) {
    const left = millis(Math.max(0, deadline - clock.now()));
    try {
      const { deadline: until, stop } = await retryWhileAway(renew, left, clock);
      if (stop !== undefined) return "told-to-stop";
      deadline = Date.parse(until) as Instant;
    } catch (error) {
      if (!(error instanceof UserError) || error.code !== "LEASE_LOST") throw error;
      // The report of the end may have ended the lease a moment ago, and its sender is about to know.
      await sleepWhile(isHeld, clock.now() < deadline ? MOMENT_MAX : MOMENT, clock);
      if (isHeld()) throw error;
    }
    await sleepWhile(isHeld, every, clock);
  }
  return "ended";
}

/** How long it takes until a report that was accepted has its file removed. */
const MOMENT = millis(500);
/** The same on a busy machine: before the lease can have expired, a report is the most likely reason for its end. */
const MOMENT_MAX = seconds(5);
/** Looks now and then, so that no caller waits for a renewal that is not needed any more. */
const LOOK = millis(100);

async function sleepWhile(goesOn: () => boolean, span: Millis, clock: Clock): Promise<void> {
  const end = later(clock.now(), span);
  while (clock.now() < end && goesOn()) await sleep(clock, millis(Math.min(LOOK, end - clock.now())));
}

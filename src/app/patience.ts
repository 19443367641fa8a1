/** Waiting for a daemon: for what it will answer, and for itself while it is away. */
import { UserError } from "../domain/errors.ts";
import { type Instant, later, type Millis, millis, seconds } from "../domain/time.ts";
import { type Clock, sleep, systemClock } from "../effects/clock.ts";
import { WAIT_MAX } from "../wire/messages.ts";

/** How long to leave a daemon that is away alone before asking again: shorter than a restart takes. */
const PAUSE = millis(100);

/** What a daemon that is being restarted answers, or does not. */
const isAway = (error: unknown): boolean =>
  error instanceof UserError && (error.code === "DAEMON_MISSING" || error.code === "DAEMON_STOPPING");

/** Asks again while the daemon is away, until the patience is at its end. What is asked must be harmless to ask twice. */
export async function patiently<T>(ask: () => Promise<T>, patience: Millis, clock = systemClock()): Promise<T> {
  const end = later(clock.now(), patience);
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
 * Has the daemon wait for something, for longer than a call may take and across its restarts. A daemon that is not there at all is
 * said at once: nobody wants to wait for a typing mistake.
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
    found = await patiently(() => ask(Math.min(left(), WAIT_MAX)), left(), clock);
    // A daemon that stops answers early: it is not asked again at once.
    if (found === undefined && left() > 0 && clock.now() < later(before, PAUSE)) await sleep(clock, PAUSE);
  }
  return found;
}

/** The first call of all. Once it has been taken, a daemon that goes away is waited for. */
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

/** What renewing a lease again and again has come to. */
export type RenewalEnd = "told-to-stop" | "ended";

export interface Renewal {
  readonly every: Millis;
  /** Renews it once: until when it is ours, and whether the work should be stopped. */
  readonly renew: () => Promise<{ readonly deadline: string; readonly stop?: object }>;
  /** Whether there is still something to renew. */
  readonly isHeld: () => boolean;
  /** Until when it is ours before it is renewed for the first time, where that is known. */
  readonly deadline?: string | undefined;
  readonly clock?: Clock;
}

/** Renews until the work is to be stopped or somebody has reported its end. A daemon that is away is waited for until the deadline. */
export async function renewing({
  every,
  renew,
  isHeld,
  deadline: known,
  clock = systemClock(),
}: Renewal): Promise<RenewalEnd> {
  // The very first call may be the one whose answer is lost, and the lease is no shorter for that.
  let deadline = Math.max(later(clock.now(), every), Date.parse(known ?? "") || 0) as Instant;
  while (isHeld()) {
    const left = millis(Math.max(0, deadline - clock.now()));
    try {
      const { deadline: until, stop } = await patiently(renew, left, clock);
      if (stop !== undefined) return "told-to-stop";
      deadline = Date.parse(until) as Instant;
    } catch (error) {
      if (!(error instanceof UserError) || error.code !== "LEASE_LOST") throw error;
      // It may be our own report that has ended it a moment ago, and whoever sent that is about to know.
      await sleepWhile(isHeld, clock.now() < deadline ? MOMENT_MAX : MOMENT, clock);
      if (isHeld()) throw error;
    }
    await sleepWhile(isHeld, every, clock);
  }
  return "ended";
}

/** How long it takes until a report that was taken has its file removed. */
const MOMENT = millis(500);
/** The same on a machine that is busy: as long as a lease cannot have run out, it is most likely a report that has ended it. */
const MOMENT_MAX = seconds(5);
/** Looks now and then, so that nobody waits for a renewal that is not needed any more. */
const LOOK = millis(100);

async function sleepWhile(goesOn: () => boolean, span: Millis, clock: Clock): Promise<void> {
  const end = later(clock.now(), span);
  while (clock.now() < end && goesOn()) await sleep(clock, millis(Math.min(LOOK, end - clock.now())));
}

/** The sums over all cycles so far. */
import type { WakeTally } from "../../domain/sessions/cycle.ts";
import type { Instant } from "../../domain/time.ts";
import type { CycleResult } from "./wake-port.ts";

type Counts = { -readonly [K in keyof WakeTally]: WakeTally[K] };

export class Tally {
  readonly #counts: Counts = {
    cycles: 0,
    rebuilds: 0,
    recovered: 0,
    recoveryErrors: 0,
    wakes: 0,
    wakeFailures: 0,
    noMatch: 0,
    unclaimable: 0,
    recentlyNotified: 0,
    starved: 0,
    spawned: 0,
    parked: 0,
  };

  get now(): WakeTally {
    return { ...this.#counts };
  }

  /** `whole`: a cycle with the ladder, and not only a look at tasks that have just become ready. */
  add(result: CycleResult, whole: boolean): void {
    const counts = this.#counts;
    if (whole) counts.cycles++;
    counts.recovered += result.recovered.length;
    counts.recoveryErrors += result.recoveryErrors.length;
    counts.wakes += result.woken.length;
    counts.wakeFailures += result.wakeFailures;
    counts.noMatch += result.noMatch.length;
    counts.unclaimable += result.unclaimable;
    counts.recentlyNotified += result.recentlyNotified;
    counts.starved += result.starved.length;
    counts.spawned += result.spawned.length;
    counts.parked += result.parked.length;
    counts.lastCycleAt = result.at;
    const [recovery, wake, last] = [result.recoveryErrors.at(-1), result.wakeErrors.at(-1), result.errors.at(-1)];
    if (recovery !== undefined) counts.lastRecoveryError = recovery;
    if (wake !== undefined) counts.lastWakeError = wake;
    if (last !== undefined) counts.lastError = last;
  }

  rebuilt(at: Instant): void {
    this.#counts.rebuilds++;
    this.#counts.lastRebuildAt = at;
  }

  failed(error: unknown): void {
    this.#counts.lastError = String(error);
  }
}

/** The decisions of a turn of the cycle, to be carried out once they are durable, and the report of them afterwards. */
import type { Instant } from "../../domain/time.ts";
import { type CycleResult, nameOf, type Pending, type WakeTarget, type WakeTurn } from "./wake-port.ts";

export interface Plan {
  readonly now: Instant;
  readonly paused: boolean;
  readonly counts: { readonly pending: number; readonly active: number; readonly sessions: number };
  readonly recovered: readonly string[];
  readonly targets: WakeTarget[];
  readonly spawns: Pending[];
  readonly noMatch: string[];
  unclaimable: number;
  recentlyNotified: number;
  capacity: number;
  cooling: number;
  readonly starved: string[];
  readonly parked: string[];
  readonly recoveryErrors: string[];
  readonly wakeErrors: string[];
  readonly otherErrors: string[];
}

export const newPlan = (
  turn: WakeTurn,
  { paused, recovered }: Pick<Plan, "paused" | "recovered">,
  recoveryErrors: string[],
): Plan => ({
  now: turn.now,
  paused,
  counts: { pending: turn.pendingCount(), active: turn.active(), sessions: turn.sessions() },
  recovered,
  targets: [],
  spawns: [],
  noMatch: [],
  unclaimable: 0,
  recentlyNotified: 0,
  capacity: 0,
  cooling: 0,
  starved: [],
  parked: [],
  recoveryErrors,
  wakeErrors: [],
  otherErrors: [],
});

export function resultOf(plan: Plan, wakeFailures: number, spawned: readonly string[]): CycleResult {
  const { now, paused, counts, recovered, targets, noMatch, unclaimable, recentlyNotified, capacity, cooling } = plan;
  const { starved, parked, recoveryErrors, wakeErrors, otherErrors } = plan;
  const woken = targets.map((target) => ({ task: nameOf(target), session: target.session as string }));
  return {
    at: now,
    paused,
    ...counts,
    recovered,
    woken,
    wakeFailures,
    noMatch,
    unclaimable,
    recentlyNotified,
    capacity,
    cooling,
    starved,
    spawned,
    parked,
    recoveryErrors,
    wakeErrors,
    errors: [...recoveryErrors, ...wakeErrors, ...otherErrors],
  };
}

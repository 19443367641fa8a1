/** What is done about a task for which nobody comes: more are woken, a worker is asked for, it is told, and in the end a person is. */
import type { Starving } from "../domain/task.ts";
import { type Millis, minutes } from "../domain/time.ts";

/** After how many cycles in vain each step is taken. Each at the earliest with the one before. */
export interface LadderLimits {
  readonly fanOut: number;
  readonly spawn: number;
  readonly event: number;
  readonly park: number;
}
export const LADDER: LadderLimits = { fanOut: 2, spawn: 4, event: 6, park: 10 };
/** How long a task waits before anything is done about it. */
export const STARVING_AGE: Millis = minutes(2);

/** No step before the one below it, whatever was asked for. */
export function monotonic({ fanOut, spawn, event, park }: LadderLimits): LadderLimits {
  const first = Math.max(1, fanOut);
  const second = Math.max(first, spawn);
  const third = Math.max(second, event);
  return { fanOut: first, spawn: second, event: third, park: Math.max(third, park) };
}

/** The steps that are due now. */
export interface Steps {
  readonly count: number;
  readonly fanOut: boolean;
  readonly spawn: boolean;
  readonly tell: boolean;
  readonly park: boolean;
}

export function climb(starving: Starving | undefined, { fanOut, spawn, event, park }: LadderLimits): Steps {
  const count = (starving?.count ?? 0) + 1;
  return {
    count,
    fanOut: count >= fanOut && count < park,
    spawn: count >= spawn && count < park && starving?.spawned !== true,
    tell: count >= event && starving?.told !== true,
    park: count >= park,
  };
}

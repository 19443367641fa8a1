/** What the scheduler does about a task for which no session comes: it wakes more sessions, asks for a worker, reports the task, and at the end parks it for a person. */
import type { Starving } from "../../domain/task.ts";
import { type Millis, minutes } from "../../domain/time.ts";

/** After how many cycles in vain each step is taken. No step comes before the one below it. */
export interface LadderLimits {
  readonly fanOut: number;
  readonly spawn: number;
  readonly event: number;
  readonly park: number;
}
export const LADDER: LadderLimits = { fanOut: 2, spawn: 4, event: 6, park: 10 };
/** How long a task waits before anything is done about it. */
export const STARVING_AGE: Millis = minutes(2);

/** Raises each limit to the one below it, so that the steps keep their order whatever the configuration says. */
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

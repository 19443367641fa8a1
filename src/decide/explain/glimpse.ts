/** Another task, as far as an explanation shows it. */

import { isHeld, type Status, type Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import type { Some, TaskGlimpse } from "../../domain/waiting/explanation.ts";

/** Lists are cut to this many, and say how many there are. */
export const LISTED_MAX = 5;

export const glimpse = ({ spec, status }: Task): TaskGlimpse => ({
  task: spec.id,
  state: status.state,
  ...sinceOf(status),
  ...(isHeld(status) && { worker: status.lease.worker }),
});

export function sinceOf(status: Status): { readonly since?: Instant } {
  if ("at" in status) return { since: status.at };
  return "since" in status ? { since: status.since } : {};
}

export const some = <A, B>(all: readonly A[], as: (each: A) => B): Some<B> => ({
  first: all.slice(0, LISTED_MAX).map(as),
  total: all.length,
});

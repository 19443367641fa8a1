/** When a wait is likely to end, where that can be known. */

import { expectedEnd, remainingCost } from "../../domain/durations/estimate.ts";
import type { TaskNo } from "../../domain/graph.ts";
import { findTask, type Run, taskOf } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import { type Instant, instant } from "../../domain/time.ts";
import type { Estimate, Unblock, Wait } from "../../domain/waiting/explanation.ts";
import { isGateClosed } from "../../domain/waiting/needs.ts";
import { unreachable } from "../../std/invariant.ts";
import type { Dispatcher } from "../dispatcher.ts";
import type { Demand } from "../room/room.ts";
import { expectations } from "./expectations.ts";
import { isHeldBackByNeeds, unmetNeeds } from "./needs.ts";

/** Nothing when the wait depends on a person, or on a task whose end cannot be estimated. */
export function expectedUnblock(
  dispatcher: Dispatcher,
  run: Run,
  task: Task,
  wait: Wait,
  now: Instant,
): Unblock | undefined {
  switch (wait.reason) {
    case "backing-off":
      return { at: wait.until, from: "back-off" };
    case "needs":
      return endOfNeeds(dispatcher, run, task, now);
    case "hazard": {
      const holder = findTask(run, wait.holder.task);
      return holder === undefined ? undefined : expectedEnd(holder, expectations(dispatcher, run)(holder), now);
    }
    case "same-key":
      return endOfKey(dispatcher, task, now);
    case "resources":
      return endOfShortage(dispatcher, run, task, now);
    case "capacity":
      if (wait.idle === 0) return soonest(endsOf(dispatcher, now));
      // The session itself decides when it claims.
      return wait.pool === undefined ? { at: now, from: "estimate" } : undefined;
    case "rate-limited":
      return { at: wait.until, from: "rate" };
    case "breaker-open":
      return wait.until === undefined ? undefined : { at: wait.until, from: "breaker" };
    case "backpressure":
      return wait.deferred ? undefined : soonest(endsOf(dispatcher, now));
    case "shortage":
      return wait.until === undefined ? soonest(endsOf(dispatcher, now)) : { at: wait.until, from: "estimate" };
    case "offered":
      return { at: wait.until, from: "offer" };
    case "gate":
    case "paused":
    case "no-match":
    case "parked":
      return undefined;
    default:
      return unreachable(wait);
  }
}

function endOfKey(dispatcher: Dispatcher, task: Task, now: Instant): Unblock | undefined {
  const holder = dispatcher.keys.holder(task);
  return holder && expectedEnd(holder.task, expectations(dispatcher, holder.run)(holder.task), now);
}

interface End extends Unblock {
  readonly run: Run;
  readonly task: Task;
}

/** When each of the held tasks is likely to end, soonest first. */
function endsOf(dispatcher: Dispatcher, now: Instant): readonly End[] {
  const estimates = new Map<Run, (task: Task) => Estimate | undefined>();
  const ends: End[] = [];
  for (const { run, task } of dispatcher.held()) {
    const estimate = estimates.get(run) ?? expectations(dispatcher, run);
    estimates.set(run, estimate);
    const end = expectedEnd(task, estimate(task), now);
    if (end !== undefined) ends.push({ run, task, ...end });
  }
  return ends.sort((a, b) => a.at - b.at);
}

const soonest = ([first]: readonly End[]): Unblock | undefined => first && { at: first.at, from: first.from };

/** The first moment at which enough holders have ended that the whole request fits on some node. */
function endOfShortage(dispatcher: Dispatcher, run: Run, task: Task, now: Instant): Unblock | undefined {
  const { own, placements } = dispatcher.runs.shapeOf(run, task);
  const ends = endsOf(dispatcher, now);
  const found = placements.flatMap(({ demands }) => endOfShortageOn([...own, ...demands], dispatcher, ends) ?? []);
  return found.reduce<Unblock | undefined>((first, each) => (first && first.at <= each.at ? first : each), undefined);
}

function endOfShortageOn(asked: readonly Demand[], dispatcher: Dispatcher, ends: readonly End[]): Unblock | undefined {
  const missing = new Map(asked.map(({ resource, amount }) => [resource, amount - resource.free]));
  const taken = new Map(
    Array.from(dispatcher.held(), (held) => [held.task, [...held.shape.own, ...held.placement.demands]]),
  );
  for (const end of ends) {
    for (const { resource, amount } of taken.get(end.task) ?? []) {
      const short = missing.get(resource);
      if (short !== undefined) missing.set(resource, short - amount);
    }
    if ([...missing.values()].every((short) => short <= 0)) return { at: end.at, from: end.from };
  }
  return undefined;
}

/** The longest path, by estimates, through the tasks that must come first. */
function endOfNeeds(dispatcher: Dispatcher, run: Run, task: Task, now: Instant): Unblock | undefined {
  const estimate = expectations(dispatcher, run);
  const ends = new Map<TaskNo, number>();
  const stack: Task[] = [task];
  // Depth first without recursion, since chains may be long: a task is timed once everything before it is.
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const needs = isHeldBackByNeeds(top) ? unmetNeeds(run, top) : [];
    const untimed = needs.filter((need) => !ends.has(need));
    if (untimed.length > 0) {
      for (const need of untimed) stack.push(taskOf(run, need));
      continue;
    }
    stack.pop();
    const start = needs.reduce((latest, need) => Math.max(latest, ends.get(need) as number), earliestStart(top, now));
    if (top === task) return Number.isFinite(start) ? { at: instant(start), from: "path" } : undefined;
    ends.set(top.no, start + (remainingCost(top, estimate(top), now) ?? Number.POSITIVE_INFINITY));
  }
  return undefined;
}

/** A task that waits for a person may wait for ever. */
function earliestStart(task: Task, now: Instant): number {
  const { status } = task;
  if (status.state === "parked" || isGateClosed(task)) return Number.POSITIVE_INFINITY;
  return status.state === "ready" ? Math.max(now, status.notBefore) : now;
}

/** What is left of a run as look-ahead sees it: flat arrays, so that playing it through costs microseconds. */

import { type TaskNo, taskNo } from "../../domain/graph.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import { isHeld, isTerminal, type Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import { isGateClosed } from "../../domain/waiting/needs.ts";
import type { Dispatcher } from "../dispatcher.ts";
import { demandsOf } from "./demands.ts";
import type { Schedule } from "./rollout-play.ts";

/** Running tasks come first; the others follow, each after all tasks it waits for. */
export interface Outlook extends Schedule {
  /** The numbers of the tasks in their run. */
  readonly numbers: Int32Array;
}

/** What look-ahead must know of a run beside the dispatcher's records. */
export interface Prospect {
  readonly run: Run;
  /** All its tasks, each after everything it waits for. */
  readonly forward: Int32Array;
  /** Believed durations by task number, in milliseconds. */
  readonly costs: Float64Array;
}

/** A task that has taken longer than was expected is expected to take this share of its time so far again. */
const OVERDUE_SHARE = 0.2;

/** Tasks that wait for a person, and all tasks behind them, are left out. */
export function outlookOf({ run, forward, costs }: Prospect, dispatcher: Dispatcher, now: Instant): Outlook {
  const tasks = tasksAhead(run, forward, dispatcher);
  const size = tasks.length;
  const places = new Map<TaskNo, number>(tasks.map(({ no }, place) => [no, place]));
  const believed = Float64Array.from(tasks, (task) => remaining(task, costs[task.no] as number, now));
  const unmet = new Int32Array(size);
  const starts = new Int32Array(size + 1);
  const dependents: number[] = [];
  for (const [place, { no }] of tasks.entries()) {
    run.graph.eachDependent(no, (dependent) => {
      const other = places.get(dependent);
      if (other === undefined) return;
      dependents.push(other);
      unmet[other] = (unmet[other] as number) + 1;
    });
    starts[place + 1] = dependents.length;
  }
  const edges = Int32Array.from(dependents);
  return {
    size,
    running: tasks.filter(({ status }) => isHeld(status)).length,
    numbers: Int32Array.from(tasks, ({ no }) => no),
    costs: believed,
    tails: tailsOf(believed, starts, edges),
    unmet,
    starts,
    dependents: edges,
    ...demandsOf(
      tasks.map((task) => dispatcher.runs.shapeOf(run, task)),
      {
        workers: Math.min(dispatcher.idle, dispatcher.allowed - dispatcher.out),
        resources: dispatcher.resources(),
        amountIn: ({ free }) => free,
      },
    ),
  };
}

function tasksAhead(run: Run, forward: Int32Array, dispatcher: Dispatcher): readonly Task[] {
  const running: Task[] = [];
  const others: Task[] = [];
  const ahead = new Set<TaskNo>();
  for (const no of forward) {
    const task = taskOf(run, taskNo(no));
    if (!isAhead(run, task, ahead, dispatcher)) continue;
    ahead.add(task.no);
    (isHeld(task.status) ? running : others).push(task);
  }
  return [...running, ...others];
}

function isAhead(run: Run, task: Task, ahead: ReadonlySet<TaskNo>, dispatcher: Dispatcher): boolean {
  const { state } = task.status;
  if (isTerminal(state) || state === "parked" || isGateClosed(task)) return false;
  if (!dispatcher.runs.isPossible(dispatcher.runs.shapeOf(run, task))) return false;
  let isReachable = true;
  run.graph.eachNeed(task.no, (need) => {
    if (!ahead.has(need) && !isTerminal(taskOf(run, need).status.state)) isReachable = false;
  });
  return isReachable;
}

function remaining({ status }: Task, cost: number, now: Instant): number {
  if (!isHeld(status)) return cost;
  const spent = now - status.since;
  return cost > spent ? cost - spent : spent * OVERDUE_SHARE;
}

/** A task comes after the tasks it waits for, so from the last to the first every tail is known when it is needed. */
function tailsOf(costs: Float64Array, starts: Int32Array, dependents: Int32Array): Float64Array {
  const tails = costs.slice();
  for (let task = costs.length - 1; task >= 0; task--) {
    let longest = 0;
    for (let at = starts[task] as number; at < (starts[task + 1] as number); at++) {
      longest = Math.max(longest, tails[dependents[at] as number] as number);
    }
    tails[task] = (tails[task] as number) + longest;
  }
  return tails;
}

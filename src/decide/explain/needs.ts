/** What a blocked task waits for: the tasks before it, and the tasks at the far end of those chains. */
import type { TaskNo } from "../../domain/graph.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import { isGateClosed, isMet } from "../../domain/waiting/needs.ts";

/** Whether it waits for other tasks, and not only for a person. */
export const isHeldBackByNeeds = (task: Task): boolean =>
  task.status.state === "blocked" && task.unmet > (isGateClosed(task) ? 1 : 0);

/** The tasks this one still waits for, in the order of the plan. */
export function unmetNeeds(run: Run, task: Task): readonly TaskNo[] {
  const unmet: TaskNo[] = [];
  run.graph.eachNeed(task.no, (need, kind) => {
    if (!isMet(taskOf(run, need).status.state, kind, task.spec)) unmet.push(need);
  });
  return unmet;
}

/** All tasks before this one with no unmet need of their own: progress has to begin with them. */
export function rootsOf(run: Run, task: Task): readonly TaskNo[] {
  const roots: TaskNo[] = [];
  const seen = new Set<TaskNo>([task.no]);
  const queue: TaskNo[] = [task.no];
  for (let head = 0; head < queue.length; head++) {
    const next = taskOf(run, queue[head] as TaskNo);
    if (!isHeldBackByNeeds(next)) roots.push(next.no);
    else {
      for (const need of unmetNeeds(run, next)) {
        if (!seen.has(need)) queue.push(need);
        seen.add(need);
      }
    }
  }
  return roots;
}

/** One of the roots. `known` is filled along the way, so that asking for all tasks of a run costs one walk. */
export function rootOf(run: Run, task: Task, known: Map<TaskNo, TaskNo>): TaskNo {
  const trail: TaskNo[] = [];
  let at = task;
  while (isHeldBackByNeeds(at) && !known.has(at.no)) {
    trail.push(at.no);
    at = taskOf(run, unmetNeeds(run, at)[0] as TaskNo);
  }
  const root = known.get(at.no) ?? at.no;
  for (const no of trail) known.set(no, root);
  return root;
}

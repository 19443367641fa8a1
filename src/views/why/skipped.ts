/** Which tasks were skipped because of which: however long the chain is, it began with one task. */
import type { TaskId } from "../../domain/ids.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";

/** The skipped tasks for each task that did not succeed, in the order of the plan. */
export function skippedBy(run: Run): ReadonlyMap<Task, readonly TaskId[]> {
  const found = new Map<Task, TaskId[]>();
  if (run.counts.skipped === 0) return found;
  const roots = new Map<Task, Task>();
  for (const task of run.tasks) {
    if (task.status.state !== "skipped") continue;
    const root = rootOf(run, task, roots);
    const known = found.get(root);
    if (known === undefined) found.set(root, [task.spec.id]);
    else known.push(task.spec.id);
  }
  return found;
}

/** `known` is filled along the way, so that all calls together cost one walk. */
function rootOf(run: Run, task: Task, known: Map<Task, Task>): Task {
  const trail: Task[] = [];
  let at = task;
  while (at.status.state === "skipped" && !known.has(at)) {
    trail.push(at);
    at = taskOf(run, at.status.because);
  }
  const root = known.get(at) ?? at;
  for (const each of trail) known.set(each, root);
  return root;
}

/** A part of a plan: some of its tasks, with everything they need. */
import { buildGraph, type TaskNo } from "../domain/graph.ts";
import { type TaskId, taskId } from "../domain/ids.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { err, ok, type Result } from "../std/result.ts";
import type { Plan } from "./plan.ts";

/**
 * The tasks of these names and all that they need, near or far, in the order of the plan; or the first name that is no task. What a task
 * merely comes `after` is left out, unless it is needed too: an order says nothing about a task that does not run.
 */
export function onlyTasks<P extends Pick<Plan, "tasks" | "graph">>(
  plan: P,
  names: readonly string[],
): Result<P, string> {
  const { tasks, graph } = plan;
  const kept = new Set<TaskNo>();
  const queue: TaskNo[] = [];
  const take = (no: TaskNo): void => {
    if (kept.has(no)) return;
    kept.add(no);
    queue.push(no);
  };
  for (const name of names) {
    const no = graph.find(taskId(name));
    if (no === undefined) return err(name);
    take(no);
  }
  for (let no = queue.pop(); no !== undefined; no = queue.pop()) {
    for (const need of (tasks[no] as TaskSpec).needs) take(graph.find(need) as TaskNo);
  }
  const isKept = (id: TaskId): boolean => kept.has(graph.find(id) as TaskNo);
  const some = tasks
    .filter(({ id }) => isKept(id))
    .map((spec) => (spec.after.every(isKept) ? spec : { ...spec, after: spec.after.filter(isKept) }));
  return ok({ ...plan, tasks: some, graph: buildGraph(some) });
}

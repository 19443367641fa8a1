/** What holds back a task that waits for other tasks, or for a person. */
import type { EdgeKind } from "../graph.ts";
import { type Run, taskOf } from "../run.ts";
import type { TaskSpec } from "../spec.ts";
import { isTerminal, type Task, type TaskState } from "../task.ts";

/** Whether a need in that state releases the task that waits for it. */
export const isMet = (need: TaskState, kind: EdgeKind, { onFailure }: Pick<TaskSpec, "onFailure">): boolean =>
  need === "succeeded" || (isTerminal(need) && (kind === "after" || onFailure === "continue"));

export const isGateClosed = ({ spec, approved }: Pick<Task, "spec" | "approved">): boolean =>
  spec.gate !== undefined && !approved;

/** Every need of the task is met, and only a person holds it back. */
export const awaitsApproval = (task: Task): boolean =>
  task.status.state === "blocked" && isGateClosed(task) && task.unmet === 1;

/** How many needs hold the task back, and a closed gate. */
export function countUnmet(run: Run, task: Task): number {
  let unmet = isGateClosed(task) ? 1 : 0;
  run.graph.eachNeed(task.no, (need, kind) => {
    if (!isMet(taskOf(run, need).status.state, kind, task.spec)) unmet++;
  });
  return unmet;
}

/** Who is likely to go next. A guess by which nothing is decided: all that is lost by a wrong one is time. */
import type { Run } from "../domain/run.ts";
import { LOCAL_POOL, poolOf } from "../domain/spec.ts";
import type { Task } from "../domain/task.ts";
import type { Dispatcher } from "./dispatcher.ts";

/**
 * Of this run, once the task has gone: whoever of those that wait comes next, or else whoever waits for nothing but this task's end. Those who
 * are `out` are not meant.
 */
export function foresee(
  dispatcher: Pick<Dispatcher, "queueOf" | "rank">,
  run: Run,
  task: Task,
  out: (task: Task) => boolean,
): Task | undefined {
  const isOut = (other: Task): boolean => other === task || out(other);
  return dispatcher.queueOf(run.no)?.firstBut(isOut)?.task ?? firstBehind(dispatcher, run, task, isOut);
}

function firstBehind(
  dispatcher: Pick<Dispatcher, "rank">,
  run: Run,
  task: Task,
  isOut: (task: Task) => boolean,
): Task | undefined {
  let first: Task | undefined;
  run.graph.eachDependent(task.no, (no) => {
    const other = run.tasks[no] as Task;
    const mayFollow = other.status.state === "blocked" && other.unmet === 1 && poolOf(other.spec) === LOCAL_POOL;
    if (!mayFollow || isOut(other)) return;
    if (first === undefined || dispatcher.rank(run, other) > dispatcher.rank(run, first)) first = other;
  });
  return first;
}

/** Who is likely to go next: a guess by which nothing is decided, all that is lost by a wrong one is time. And who alone can. */
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

/**
 * Whether it is this one that goes as soon as the only one it waits for has ended well: nobody else waits for a worker, or will by that end,
 * and it asks for nothing that it might have to wait for.
 */
export function goesAlone(dispatcher: Pick<Dispatcher, "ready" | "mode">, run: Run, ended: Task, task: Task): boolean {
  const { ready, mode } = dispatcher;
  if (ready.size > 0 || mode !== "normal" || run.cancelling || !asksForNothing(task)) return false;
  if (ready.aside.pauses.of(run, task) !== undefined) return false;
  let others = 0;
  run.graph.eachDependent(ended.no, (no) => {
    const other = run.tasks[no] as Task;
    if (other !== task && mayFollow(other)) others++;
  });
  return mayFollow(task) && others === 0;
}

/** Whether it waits for one thing only. */
const mayFollow = ({ status, unmet, spec }: Task): boolean =>
  status.state === "blocked" && unmet === 1 && poolOf(spec) === LOCAL_POOL;

function asksForNothing({ spec }: Task): boolean {
  for (const _ in spec.resources) return false;
  return spec.reads.length + spec.writes.length + spec.requires.length === 0 && spec.provider === undefined;
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
    if (!mayFollow(other) || isOut(other)) return;
    if (first === undefined || dispatcher.rank(run, other) > dispatcher.rank(run, first)) first = other;
  });
  return first;
}

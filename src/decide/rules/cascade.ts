/** What the end of a task does to tasks that waited for its success: they can never run. */
import type { TaskNo } from "../../domain/graph.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import { isTerminal, type Task } from "../../domain/task.ts";
import { isMet } from "../../domain/waiting/needs.ts";

/** The tasks that must be skipped because `ended` did not succeed. Only its direct dependents: the caller asks about each of them in turn. */
export function toSkip(run: Run, ended: Task): readonly TaskNo[] {
  const { state } = ended.status;
  if (!isTerminal(state) || state === "succeeded") return [];
  const skipped: TaskNo[] = [];
  run.graph.eachDependent(ended.no, (no, kind) => {
    const dependent = taskOf(run, no);
    const waits = dependent.status.state === "blocked" || dependent.status.state === "parked";
    if (waits && !isMet(state, kind, dependent.spec)) skipped.push(no);
  });
  return skipped;
}

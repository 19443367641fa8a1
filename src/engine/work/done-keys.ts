/** Which idempotency keys are done when a task has succeeded. */
import { isTaken, type Outcome } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import type { DoneKey } from "../../store/store.ts";

/** Nothing when the task has no key, or has itself taken another task's result. */
export function doneKeys(run: Run, { spec }: Task, outcome: Outcome): readonly DoneKey[] {
  if (spec.idempotencyKey === undefined || outcome.kind !== "success" || isTaken(outcome)) return [];
  const { summary, result } = outcome;
  const by = { run: run.manifest.id, task: spec.id };
  return [
    {
      key: spec.idempotencyKey,
      by,
      ...(summary !== undefined && { summary }),
      ...(result !== undefined && { result }),
    },
  ];
}

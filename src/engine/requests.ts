/** Does what a person asked for. What cannot be done any more is let be: the request came too late. */
import { isGateClosed } from "../domain/needs.ts";
import { findTask, type Run } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { type Asked, cancellerOf, isHeld, isTerminal, type Task } from "../domain/task.ts";
import type { RequestKind } from "../store/store.ts";
import type { Stopper } from "./stopper.ts";
import type { Turn } from "./turn.ts";

export function obeyRequest(
  turn: Turn,
  stopper: Stopper,
  run: Run,
  {
    kind,
    task: id,
    asked,
  }: { readonly kind: RequestKind; readonly task: TaskSpec["id"] | undefined; readonly asked: Asked },
): void {
  if (run.status.state === "finished") return;
  const tasks = id === undefined ? run.tasks : [findTask(run, id)].filter((task) => task !== undefined);
  switch (kind) {
    case "cancel":
      if (id === undefined) turn.journal.ofRun(run.no, { kind: "run_cancelling", ...asked }, turn.now);
      for (const task of tasks) cancel(turn, stopper, run, task, asked);
      return;
    case "requeue":
      for (const task of tasks) {
        if (task.status.state === "parked") turn.journal.ofTask(run, task, { kind: "requeued", asked }, turn.now);
      }
      return;
    case "approve":
      for (const task of tasks) {
        const waits = isGateClosed(task) && !isTerminal(task.status.state);
        if (waits) turn.journal.ofTask(run, task, { kind: "approved", asked }, turn.now);
      }
      return;
  }
}

/** What runs is stopped first, and is cancelled when nothing of it is left. */
function cancel(turn: Turn, stopper: Stopper, run: Run, task: Task, asked: Asked): void {
  const { status } = task;
  if (isTerminal(status.state)) return;
  if (!isHeld(status)) return turn.journal.ofTask(run, task, { kind: "cancelled", asked }, turn.now);
  if (cancellerOf(status) !== undefined) return;
  stopper.stop(turn, run, task, { kind: "cancelled", asked });
}

/** Refuses requests that are impossible, or come too late, before anything is written. */
import { UserError } from "../../domain/errors.ts";
import type { Run } from "../../domain/run.ts";
import { isTerminal, type Task } from "../../domain/task.ts";
import type { RequestKind } from "../../store/store.ts";

export function refuseInVain(kind: RequestKind, run: Run, task: Task | undefined): void {
  const { id } = run.manifest;
  switch (kind) {
    case "cancel":
      if (run.status.state === "finished")
        throw new UserError("CANNOT_CANCEL", `Run ${id} has ended (${run.status.outcome})`);
      if (task !== undefined && isTerminal(task.status.state)) {
        throw new UserError("CANNOT_CANCEL", `Task ${task.spec.id} has ended (${task.status.state})`);
      }
      return;
    case "approve": {
      if (task?.spec.gate === undefined) throw new UserError("CANNOT_APPROVE", `Task ${task?.spec.id} has no gate`);
      if (task.approved) throw new UserError("CANNOT_APPROVE", `Task ${task.spec.id} is approved already`);
      if (isTerminal(task.status.state)) {
        throw new UserError("CANNOT_APPROVE", `Task ${task.spec.id} has ended (${task.status.state})`);
      }
      return;
    }
    case "requeue":
      if (task?.status.state !== "parked") {
        throw new UserError("CANNOT_REQUEUE", `Task ${task?.spec.id} is ${task?.status.state}, not parked`);
      }
      return;
  }
}

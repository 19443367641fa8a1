/** What a row says and what the history adds up to must be the same, field by field. */
import type { TaskRow } from "../../store/rows.ts";
import { isHeld, nameOf, type SeenTask } from "../history/seen.ts";

type Plain = string | number | boolean | null | undefined;

/** Compares the row that was just written with the task as its events describe it. */
export function rowLaws(row: TaskRow, task: SeenTask | undefined): readonly string[] {
  if (task === undefined) return [`there is a row of run ${row.run}, task ${row.task}, which was never submitted`];
  const broken: string[] = [];
  const same = (field: string, stored: Plain, told: Plain): void => {
    if (stored !== told) broken.push(`${nameOf(task)}: the row's ${field} is ${stored}, and the ledger says ${told}`);
  };
  same("state", row.state, task.state);
  same("version", row.version, task.version);
  same("attempt", row.attempt, task.attempt);
  same("failures", row.failures, task.failures);
  same("expiries", row.expiries, task.expiries);
  same("approved", row.approved, task.approved);
  same("worker", row.worker, isHeld(task) ? task.worker : null);
  same("deadline", row.deadline, isHeld(task) ? task.deadline : null);
  if (task.state === "waiting" && row.notBefore !== null && row.notBefore < task.notBefore) {
    same("back-off", row.notBefore, task.notBefore);
  }
  const stored = row.detail?.offer?.session ?? null;
  if (task.state === "waiting") same("offer", stored, task.offer?.session ?? null);
  return broken;
}

/** From what a turn has brought to rows, each with its checksum. */
import { type Event, isRecorded, type RunSubmitted } from "../../domain/event.ts";
import { afterLessons, type DurationRecord, type History, type Lesson } from "../../domain/history.ts";
import type { RunStatus } from "../../domain/run.ts";
import { packSpec } from "../../domain/spec.ts";
import { invariant } from "../../std/invariant.ts";
import { toLedgerRow } from "../ledger.ts";
import type { RunRow } from "../rows.ts";
import type { Batch, SpecWrite, TaskWrite } from "../store.ts";
import { readHistory, type Target } from "./read.ts";
import { writeRegisters } from "./registers.ts";
import { advanceSeals, sealTable, sumIn } from "./seals.ts";
import type { Writing } from "./statements.ts";
import { eventSum, sumOf, taskSum } from "./sums.ts";

/** False when the store has another owner, or a row is not what the batch takes it to be. */
export function writeBatch(target: Target, batch: Batch): boolean {
  const sql = target.write;
  if (sql.holdsEpoch.get(batch.epoch) === undefined) return false;
  for (const submitted of batch.submitted) insertRun(sql, submitted);
  for (const run of batch.runs) updateRun(sql, run);
  for (const write of batch.tasks) if (!writeTask(sql, write)) return false;
  for (const event of batch.events) insertEvent(sql, event);
  for (const no of batch.requestsDone) deleteRequest(target, no);
  for (const { plan, lessons } of batch.lessons) remember(target, plan, lessons);
  for (const edited of batch.edited) updateSpec(sql, edited);
  advanceSeals(target.seals, sql, batch);
  writeRegisters(target, batch);
  return true;
}

function insertRun(sql: Writing, { run, manifest, specs }: RunSubmitted): void {
  const { id, name, digest } = manifest;
  const values = [run, id, name, digest, JSON.stringify(manifest), specs.length, "active", null, null, 0] as const;
  sql.insertRun.run(...values, sumOf("run", ...values));
  for (let no = 0; no < specs.length; no++) {
    const spec = specs[no];
    invariant(spec !== undefined, "specs are dense");
    const text = JSON.stringify(packSpec(spec));
    sql.insertSpec.run(run, no, spec.id, text, sumOf("task_spec", run, no, spec.id, text));
  }
}

function updateRun(sql: Writing, { no, manifest, tasks, status, cancelling }: RunRow): void {
  const { id, name, digest } = manifest;
  const now = [status.state, outcomeOf(status), endedAt(status), Number(cancelling)] as const;
  sql.updateRun.run(...now, sumOf("run", no, id, name, digest, JSON.stringify(manifest), tasks, ...now), no);
}

const outcomeOf = (status: RunStatus): string | null => (status.state === "finished" ? status.outcome : null);
const endedAt = (status: RunStatus): number | null => (status.state === "active" ? null : status.at);

function updateSpec(sql: Writing, { run, task, spec }: SpecWrite): void {
  const text = JSON.stringify(packSpec(spec));
  sql.updateSpec.run(text, sumOf("task_spec", run, task, spec.id, text), run, task);
}

function writeTask(sql: Writing, { row, replaces }: TaskWrite): boolean {
  const { run, task, state, version, attempt, failures, expiries, since, notBefore, worker, deadline, tokenHash } = row;
  const { lostBy, lane } = row;
  const detail = row.detail === null ? null : JSON.stringify(row.detail);
  const approved = Number(row.approved);
  const sum = taskSum(
    run,
    task,
    state,
    version,
    attempt,
    failures,
    expiries,
    approved,
    since,
    notBefore,
    worker,
    deadline,
    tokenHash,
    lostBy,
    lane,
    detail,
  );
  const { changes } =
    replaces === 0
      ? sql.insertTask.run(
          run,
          task,
          state,
          version,
          attempt,
          failures,
          expiries,
          approved,
          since,
          notBefore,
          worker,
          deadline,
          tokenHash,
          lostBy,
          lane,
          detail,
          sum,
        )
      : sql.updateTask.run(
          state,
          version,
          attempt,
          failures,
          expiries,
          approved,
          since,
          notBefore,
          worker,
          deadline,
          tokenHash,
          lostBy,
          lane,
          detail,
          sum,
          run,
          task,
          replaces,
        );
  return changes === 1;
}

function insertEvent(sql: Writing, event: Event): void {
  if (!isRecorded(event)) return;
  const { seq, at, run, task, version, attempt, kind, data } = toLedgerRow(event);
  const sum = eventSum(seq, at, run, task, version, attempt, kind, data);
  sql.insertEvent.run(seq, at, run, task, version, attempt, kind, data, sum);
}

export function deleteRequest({ seals, write }: Target, no: number): void {
  sealTable(seals, write, "request", -sumIn(write.sumOfRequest, no));
  write.deleteRequest.run(no);
}

function remember(target: Target, plan: string, lessons: readonly Lesson[]): void {
  const known = readHistory(target, plan);
  const { durations, error } = afterLessons(known, lessons);
  let change = 0;
  for (const task of new Set(lessons.map((lesson) => lesson.task))) {
    const values = durationValues(plan, task, durations.get(task) as DurationRecord);
    const sum = sumOf("duration", ...values);
    const before = known.durations.get(task);
    change += sum - (before === undefined ? 0 : sumOf("duration", ...durationValues(plan, task, before)));
    target.write.writeDuration.run(...values, sum);
  }
  sealTable(target.seals, target.write, "duration", change);
  if (error.count === known.error.count) return;
  const sum = errorSum(plan, error);
  target.write.writeEstimateError.run(plan, error.count, error.sumOfSquares, sum);
  const before = known.error.count === 0 ? 0 : errorSum(plan, known.error);
  sealTable(target.seals, target.write, "estimate_error", sum - before);
}

const errorSum = (plan: string, { count, sumOfSquares }: History["error"]): number =>
  sumOf("estimate_error", plan, count, sumOfSquares);

const durationValues = (plan: string, task: string, { count, meanLog }: DurationRecord) =>
  [plan, task, count, meanLog] as const;

/** Writes what a turn has brought, each row with its checksum. */
import {
  afterSamples,
  type DurationRecord,
  type DurationSample,
  type History,
} from "../../../domain/durations/history.ts";
import type { RunStatus } from "../../../domain/run.ts";
import { packSpec } from "../../../domain/spec.ts";
import type { RunRow } from "../../rows.ts";
import type { Request, SpecWrite } from "../../store.ts";
import { readHistory, type Target } from "../reading/read.ts";
import type { Writing } from "../statements.ts";
import { writeRegisters } from "../sums/registers.ts";
import { advanceSeals, sealTable, sumIn } from "../sums/seals.ts";
import { sumAt, sumOf, type Value } from "../sums/sums.ts";
import { type Rows, type Sheet, TASK_WIDTH } from "./sheet.ts";

/** False when the store has another owner, or a row does not have the version that the batch replaces. */
export function writeSheet(target: Target, sheet: Sheet): boolean {
  const sql = target.write;
  if (sql.holdsEpoch.get(sheet.epoch) === undefined) return false;
  const { newRuns, specs, pages } = sheet.rows;
  sql.runs.add(newRuns);
  sql.specs.add(specs);
  for (const run of sheet.runs) updateRun(sql, run);
  if (!writeTasks(sql, sheet.rows)) return false;
  sql.pages.add(pages);
  for (const no of sheet.requestsDone) deleteRequest(target, no);
  for (const { plan, durationSamples } of sheet.durationSamples) remember(target, plan, durationSamples);
  for (const edited of sheet.edited) updateSpec(sql, edited);
  advanceSeals(target.seals, sql, sheet.moved);
  writeRegisters(target, sheet);
  return true;
}

function updateRun(sql: Writing, { no, manifest, tasks, status, cancelling }: RunRow): void {
  const { id, name, digest } = manifest;
  const now = [status.state, outcomeOf(status), endedAt(status), Number(cancelling)] as const;
  sql.updateRun.run(...now, sumOf("run", no, id, name, digest, JSON.stringify(manifest), tasks, ...now), no);
}

const outcomeOf = (status: RunStatus): string | null => (status.state === "active" ? null : status.outcome);
const endedAt = (status: RunStatus): number | null => (status.state === "active" ? null : status.at);

function updateSpec(sql: Writing, { run, task, spec }: SpecWrite): void {
  const text = JSON.stringify(packSpec(spec));
  sql.updateSpec.run(text, sumOf("task_spec", run, task, spec.id, text), run, task);
}

/** How many columns name the task; the rest follow. */
const TASK_KEY = 2;

function writeTasks(sql: Writing, { freshTasks, changedTasks }: Rows): boolean {
  if (sql.tasks.add(freshTasks) !== freshTasks.length / TASK_WIDTH) return false;
  for (let at = 0; at < changedTasks.length; at += TASK_WIDTH + 1) {
    const bound = new Array<Value>(TASK_WIDTH + 2);
    let to = 0;
    for (let column = TASK_KEY; column < TASK_WIDTH; column++) bound[to++] = changedTasks[at + column] as Value;
    bound[to++] = sumAt("task", changedTasks, at, TASK_WIDTH);
    for (let column = 0; column < TASK_KEY; column++) bound[to++] = changedTasks[at + column] as Value;
    bound[to] = changedTasks[at + TASK_WIDTH] as Value;
    if (sql.updateTask.run(...bound).changes !== 1) return false;
  }
  return true;
}

/** Gives its number. */
export function addRequest({ seals, write }: Target, request: Request): number {
  const body = JSON.stringify(request);
  const no = Number(write.insertRequest.run(request.at, body).lastInsertRowid);
  const sum = sumOf("request", no, request.at, body);
  write.sumRequest.run(sum, no);
  sealTable(seals, write, "request", sum);
  return no;
}

export function deleteRequest({ seals, write }: Target, no: number): void {
  sealTable(seals, write, "request", -sumIn(write.sumOfRequest, no));
  write.deleteRequest.run(no);
}

function remember(target: Target, plan: string, durationSamples: readonly DurationSample[]): void {
  const known = readHistory(target, plan);
  const { durations, error } = afterSamples(known, durationSamples);
  let change = 0;
  const rows: Value[] = [];
  for (const task of new Set(durationSamples.map((sample) => sample.task))) {
    const values = durationValues(plan, task, durations.get(task) as DurationRecord);
    const before = known.durations.get(task);
    change += sumOf("duration", ...values);
    if (before !== undefined) change -= sumOf("duration", ...durationValues(plan, task, before));
    rows.push(...values);
  }
  target.write.durations.add(rows);
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

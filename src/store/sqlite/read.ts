/** From rows to what they mean. Every row is held against its checksum before it is believed. */

import type { Event } from "../../domain/event.ts";
import { type DurationRecord, type History, NO_HISTORY } from "../../domain/history.ts";
import { type RunManifest, type RunNo, type RunStatus, runNo } from "../../domain/run.ts";
import { type TaskSpec, unpackSpec } from "../../domain/spec.ts";
import type { Range } from "../../std/skips.ts";
import { fromLedgerRow, type LedgerRow } from "../ledger.ts";
import type { RunRow, TaskRow } from "../rows.ts";
import type { EventQuery, Owner, PendingRequest, Request, StoredRun, WhichRuns } from "../store.ts";
import { findSeal, refuseMissing, type Sealing, sealOf, WHOLE_LEDGER } from "./seals.ts";
import type { Reading, SealReading, Writing } from "./statements.ts";
import { damaged, eventSum, sumOf, taskSum, type Value, verify } from "./sums.ts";

export type Row = Record<string, unknown>;
const EVENTS_MAX = 2 ** 31;

/** What a look at the file needs. Without seals the file is from before there were checksums, and is believed as it is. */
export interface Source {
  readonly sql: Reading;
  readonly seals: Sealing;
}

/** What writing needs on top of it. */
export interface Target extends Source {
  readonly seals: SealReading;
  readonly write: Writing;
}

export function readOwner({ sql, seals }: Source): { readonly epoch: number; readonly owner: Owner | undefined } {
  const row = sql.ownership.get();
  if (row === undefined) throw damaged("the record of who schedules is gone");
  const { epoch, owner } = row as { epoch: number; owner: string | null };
  if (seals) verify(row["sum"], sumOf("ownership", epoch, owner), () => "the record of who schedules");
  return { epoch, owner: owner === null ? undefined : (JSON.parse(owner) as Owner) };
}

export const readRuns = (source: Source, which?: WhichRuns): readonly RunRow[] =>
  rowsOfRuns(source.sql, which).map((row) => toRunRow(source, row));

function rowsOfRuns(sql: Reading, which: WhichRuns | undefined): readonly Row[] {
  if (which === undefined) return sql.allRuns.all();
  if (which === "newest") return sql.newestRun.all();
  if (which === "unfinished") return sql.unfinishedRuns.all();
  if ("no" in which) return sql.oneRun.all(which.no);
  if ("id" in which) return sql.runOfName.all(which.id);
  if ("begins" in which) return sql.runsBeginning.all(which.begins, `${which.begins}${LAST_CHARACTER}`);
  return sql.newestRuns.all(which.before ?? Number.MAX_SAFE_INTEGER, which.newest);
}
/** No id has it, so everything that begins in the same way comes before it. */
const LAST_CHARACTER = "\u{10ffff}";

export function readRun(source: Source, no: RunNo): StoredRun | undefined {
  const found = source.sql.oneRun.get(no);
  if (found === undefined) return undefined;
  const row = toRunRow(source, found);
  const specs = source.sql.specsOfRun.all(no).map((each, index) => toSpec(source, each, index));
  const tasks = source.sql.tasksOfRun.all(no).map((each) => toTaskRow(source, each));
  if (source.seals !== undefined) refuseIncomplete(source.seals, row, specs, tasks);
  return { row, specs, tasks };
}

/** Rows that are missing, or are older ones, have sums that are right; what they add up to is not. */
function refuseIncomplete(
  seals: NonNullable<Sealing>,
  { no, tasks: planned }: RunRow,
  specs: readonly TaskSpec[],
  tasks: readonly TaskRow[],
): void {
  if (specs.length !== planned) throw damaged(`run ${no} has ${specs.length} of its ${planned} tasks`);
  refuseDisorder(tasks, ({ task }) => task, `the tasks of run ${no}`);
  const { versions } = sealOf(seals, no);
  const found = tasks.reduce((sum, { version }) => sum + version, 0);
  if (found !== versions)
    throw damaged(`run ${no}: its tasks have gone through ${found} changes, where ${versions} were made`);
}

function refuseDisorder<T>(rows: readonly T[], numberOf: (row: T) => number, what: string): void {
  for (let at = 1; at < rows.length; at++)
    if (numberOf(rows[at] as T) <= numberOf(rows[at - 1] as T)) throw damaged(`${what} are not in order`);
}

export function readEvents({ sql, seals }: Source, query: EventQuery): readonly Event[] {
  const { run, task, limit = EVENTS_MAX } = query;
  const range = rangeOf(seals, query);
  const rows = sql.events.all({ run: run ?? null, task: task ?? null, limit, ...range }) as unknown as LedgerRow[];
  if (seals !== undefined) {
    for (const row of rows) verifyEvent(row);
    refuseDisorder(rows, ({ seq }) => seq, "the events of the ledger");
    if (run === undefined && task === undefined) refuseHoles({ sql, seals }, query, rows);
    else refuseGaps(seals, query, rows, limit);
  }
  return rows.map(fromLedgerRow);
}

/**
 * Where the events can be. The seal of a run says where its first and its last one stand, so nothing before or behind them is looked
 * through; an index would say more, but would make each commit a tenth slower and more.
 */
function rangeOf(seals: Sealing, { run, after = 0 }: EventQuery): { readonly after: number; readonly last: number } {
  const seal = seals && run !== undefined ? findSeal(seals, run) : undefined;
  if (seal === undefined) return { after, last: Number.MAX_SAFE_INTEGER };
  return { after: Math.max(after, seal.first - 1), last: seal.last };
}

function verifyEvent(row: LedgerRow & { readonly sum?: unknown }): void {
  const { seq, at, run, task, version, attempt, kind, data } = row;
  verify(row.sum, eventSum(seq, at, run, task, version, attempt, kind, data), () => `event ${seq} of the ledger`);
}

/** All events together are numbered without gaps, but for what was forgotten. */
function refuseHoles(source: Source, { after = 0, limit = EVENTS_MAX }: EventQuery, rows: readonly LedgerRow[]): void {
  let last = after;
  for (const { seq } of rows) {
    if (seq !== last + 1 && !isForgotten(source, last + 1, seq - 1))
      throw damaged(`event ${last + 1} of the ledger is missing`);
    last = seq;
  }
  if (rows.length < limit) refuseOtherEnd(source, last, rows.length > 0);
}

/** The ledger ends at this position, but for what was forgotten behind it. Gives the last position that was written. */
function refuseOtherEnd(source: Source, position: number, isThere: boolean): number {
  const { last } = sealOf(source.seals as SealReading, WHOLE_LEDGER);
  const isShort = last > position && !isForgotten(source, position + 1, last);
  if (isShort || (isThere && position > last))
    throw damaged(`the last event of the ledger is ${position}, where ${last} was written`);
  return last;
}

/** Ranges do not touch, so all of these positions are in the same one. */
function isForgotten({ sql }: Source, first: number, last: number): boolean {
  const row = sql.forgottenAt.get(first);
  return row !== undefined && toRange(row).last >= last;
}

export function readForgotten({ sql, seals }: Source): readonly Range[] {
  refuseMissing(seals, "forgotten");
  return sql.forgotten.all().map(toRange);
}

export function toRange(row: Row): Range {
  const { first, last, sum } = row as { first: number; last: number; sum: number };
  verify(sum, sumOf("forgotten", first, last), () => `what was forgotten from event ${first} on`);
  return { first, last };
}

/** Those of one task are numbered without gaps among themselves. */
function refuseGaps(
  seals: NonNullable<Sealing>,
  { run, task, after = 0 }: EventQuery,
  rows: readonly LedgerRow[],
  limit: number,
): void {
  if (run !== undefined && task !== undefined) {
    for (const [index, { version }] of rows.entries())
      if (index > 0 && version !== (rows[index - 1]?.version ?? 0) + 1)
        throw damaged(`an event of run ${run}, before its change ${version} of task ${task}, is missing`);
  }
  const seal = task === undefined && run !== undefined && rows.length < limit ? findSeal(seals, run) : undefined;
  if (seal === undefined) return;
  const { last } = seal;
  const found = rows.at(-1)?.seq ?? 0;
  if (last > after && found !== last)
    throw damaged(`the last event of the ledger is ${found}, where ${last} was written`);
}

export function readLastSeq({ sql, seals }: Source): number {
  const { seq } = sql.lastSeq.get() as { seq: number };
  if (seals === undefined) return seq;
  return refuseOtherEnd({ sql, seals }, seq, true);
}

export function readHistory({ sql, seals }: Source, plan: string): History {
  const durations = new Map<string, DurationRecord>();
  for (const row of sql.durations.all(plan)) {
    const { task, count, mean_log: meanLog } = row as { task: string; count: number; mean_log: number };
    if (seals) verify(row["sum"], sumOf("duration", plan, task, count, meanLog), () => `what is known of ${task}`);
    durations.set(task, { count, meanLog });
  }
  const row = sql.estimateError.get(plan);
  if (row === undefined) return { durations, error: NO_HISTORY.error };
  const { count, sum_of_squares: sumOfSquares } = row as { count: number; sum_of_squares: number };
  if (seals) verify(row["sum"], sumOf("estimate_error", plan, count, sumOfSquares), () => `what is known of ${plan}`);
  return { durations, error: { count, sumOfSquares } };
}

export function readRequests({ sql, seals }: Source): readonly PendingRequest[] {
  refuseMissing(seals, "request");
  return sql.allRequests.all().map((row) => {
    const { no, at, body } = row as { no: number; at: number; body: string };
    if (seals) verify(row["sum"], sumOf("request", no, at, body), () => `request ${no}`);
    return { ...(JSON.parse(body) as Request), no };
  });
}

export function toRunRow({ seals }: Source, row: Row): RunRow {
  if (seals) verify(row["sum"], sumOf("run", ...runValues(row)), () => `run ${String(row["no"])}`);
  return {
    no: runNo(row["no"] as number),
    manifest: JSON.parse(row["manifest"] as string) as RunManifest,
    tasks: row["tasks"] as number,
    status: toRunStatus(row),
    cancelling: row["cancelling"] === 1,
  };
}

const RUN_COLUMNS = [
  "no",
  "id",
  "name",
  "digest",
  "manifest",
  "tasks",
  "state",
  "outcome",
  "ended_at",
  "cancelling",
] as const;
const runValues = (row: Row): Value[] => RUN_COLUMNS.map((column) => row[column] as Value);

function toRunStatus({ state, ended_at: at, outcome }: Row): RunStatus {
  return (state === "active" ? { state } : state === "stalled" ? { state, at } : { state, at, outcome }) as RunStatus;
}

/** The order is that of the pages, and nobody sorts what should be sorted already: pages that changed places are noticed here. */
function toSpec({ seals }: Source, row: Row, index: number): TaskSpec {
  const { run, no, id, spec } = row as { run: number; no: number; id: string; spec: string };
  if (seals) verify(row["sum"], sumOf("task_spec", run, no, id, spec), () => `task ${no} of run ${run}, as planned,`);
  if (seals && no !== index) throw damaged(`task ${index} of run ${run} is not where it should be`);
  return unpackSpec(JSON.parse(spec));
}

interface StoredTask {
  readonly run: number;
  readonly no: number;
  readonly state: string;
  readonly version: number;
  readonly attempt: number;
  readonly failures: number;
  readonly expiries: number;
  readonly approved: number;
  readonly since: number;
  readonly not_before: number | null;
  readonly worker: string | null;
  readonly expires_at: number | null;
  readonly token_hash: string | null;
  readonly lost_by: string | null;
  readonly lane: string | null;
  readonly detail: string | null;
  readonly sum: number | null;
}

function toTaskRow({ seals }: Source, raw: Row): TaskRow {
  const row = raw as unknown as StoredTask;
  const { run, no: task, state, version, attempt, failures, expiries, approved, since } = row;
  const { not_before: notBefore, worker, expires_at: deadline, token_hash: tokenHash, lost_by: lostBy } = row;
  const { lane, detail } = row;
  if (seals) {
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
    verify(row.sum, sum, () => `task ${task} of run ${run}`);
  }
  return {
    run,
    task,
    state,
    version,
    attempt,
    failures,
    expiries,
    approved: approved === 1,
    since,
    notBefore,
    worker,
    deadline,
    tokenHash,
    lostBy,
    lane,
    detail: detail === null ? null : JSON.parse(detail),
  } as TaskRow;
}

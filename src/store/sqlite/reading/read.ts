/** From rows to values. Every row is checked against its checksum first. */

import { type DurationRecord, type History, NO_HISTORY } from "../../../domain/durations/history.ts";
import { type RunManifest, type RunNo, type RunStatus, runNo } from "../../../domain/run.ts";
import { type TaskSpec, unpackSpec } from "../../../domain/spec.ts";
import type { RunRow, TaskRow } from "../../rows.ts";
import type { Owner, PendingRequest, Request, StoredRun, WhichRuns } from "../../store.ts";
import type { Reading, SealReading, Writing } from "../statements.ts";
import { refuseMissing, sealOf } from "../sums/seals.ts";
import { damaged, sumAt, sumOf, type Value, verify } from "../sums/sums.ts";

export type Row = Record<string, unknown>;

/** What reading needs. */
export interface Source {
  readonly sql: Reading;
  readonly seals: SealReading;
}

/** What writing needs in addition. */
export interface Target extends Source {
  readonly write: Writing;
}

export function readOwner({ sql }: Source): { readonly epoch: number; readonly owner: Owner | undefined } {
  const row = sql.ownership.get();
  if (row === undefined) throw damaged("the record of who schedules is gone");
  const { epoch, owner } = row as { epoch: number; owner: string | null };
  verify(row["sum"], sumOf("ownership", epoch, owner), () => "the record of who schedules");
  return { epoch, owner: owner === null ? undefined : (JSON.parse(owner) as Owner) };
}

export const readRuns = (source: Source, which?: WhichRuns): readonly RunRow[] =>
  rowsOfRuns(source.sql, which).map(toRunRow);

function rowsOfRuns(sql: Reading, which: WhichRuns | undefined): readonly Row[] {
  if (which === undefined) return sql.allRuns.all();
  if (which === "newest") return sql.newestRun.all();
  if (which === "unfinished") return sql.unfinishedRuns.all();
  if ("no" in which) return sql.oneRun.all(which.no);
  if ("id" in which) return sql.runOfName.all(which.id);
  if ("begins" in which) return sql.runsBeginning.all(which.begins, `${which.begins}${LAST_CHARACTER}`);
  return sql.newestRuns.all(which.before ?? Number.MAX_SAFE_INTEGER, which.newest);
}
/** No id contains it, so every id with the same beginning sorts before it. */
const LAST_CHARACTER = "\u{10ffff}";

export function readRun(source: Source, no: RunNo): StoredRun | undefined {
  const found = source.sql.oneRun.get(no);
  if (found === undefined) return undefined;
  const row = toRunRow(found);
  const specs = source.sql.specsOfRun.all(no).map(toSpec);
  const tasks = source.sql.tasksOfRun.all(no).map(toTaskRow);
  refuseIncomplete(source.seals, row, specs, tasks);
  return { row, specs, tasks };
}

/** When rows are missing or old, each checksum is right but their total is not. */
function refuseIncomplete(
  seals: SealReading,
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

export function refuseDisorder<T>(rows: readonly T[], numberOf: (row: T) => number, what: string): void {
  for (let at = 1; at < rows.length; at++)
    if (numberOf(rows[at] as T) <= numberOf(rows[at - 1] as T)) throw damaged(`${what} are not in order`);
}

export function readHistory({ sql }: Source, plan: string): History {
  const durations = new Map<string, DurationRecord>();
  for (const row of sql.durations.all(plan)) {
    const { task, count, mean_log: meanLog } = row as { task: string; count: number; mean_log: number };
    verify(row["sum"], sumOf("duration", plan, task, count, meanLog), () => `what is known of ${task}`);
    durations.set(task, { count, meanLog });
  }
  const row = sql.estimateError.get(plan);
  if (row === undefined) return { durations, error: NO_HISTORY.error };
  const { count, sum_of_squares: sumOfSquares } = row as { count: number; sum_of_squares: number };
  verify(row["sum"], sumOf("estimate_error", plan, count, sumOfSquares), () => `what is known of ${plan}`);
  return { durations, error: { count, sumOfSquares } };
}

export function readRequests({ sql, seals }: Source): readonly PendingRequest[] {
  refuseMissing(seals, "request");
  return sql.allRequests.all().map((row) => {
    const { no, at, body } = row as { no: number; at: number; body: string };
    verify(row["sum"], sumOf("request", no, at, body), () => `request ${no}`);
    return { ...(JSON.parse(body) as Request), no };
  });
}

export function toRunRow(row: Row): RunRow {
  verify(row["sum"], sumOf("run", ...runValues(row)), () => `run ${String(row["no"])}`);
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
  return (state === "active" ? { state } : { state, at, outcome }) as RunStatus;
}

/** The rows come in the order of the pages, without sorting, so pages that changed places are noticed here. */
function toSpec(row: unknown, index: number): TaskSpec {
  const [run, no, id, spec, sum] = row as [number, number, string, string, number];
  verify(sum, sumOf("task_spec", run, no, id, spec), () => `task ${no} of run ${run}, as planned,`);
  if (no !== index) throw damaged(`task ${index} of run ${run} is not where it should be`);
  return unpackSpec(JSON.parse(spec));
}

function toTaskRow(values: unknown): TaskRow {
  const columns = values as readonly Value[];
  const [run, task, state, version, attempt, failures, expiries, approved, since, ...rest] = columns;
  const [notBefore, worker, deadline, tokenHash, lostBy, lane, detail, sum] = rest;
  verify(sum, sumAt("task", columns, 0, columns.length - 1), () => `task ${task} of run ${run}`);
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
    detail: detail === null ? null : JSON.parse(detail as string),
  } as TaskRow;
}

/** The store in one SQLite file. One writer, write-ahead log, everything of a turn in one transaction. */
import { chmodSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { UserError } from "../../domain/errors.ts";
import { type Event, isRecorded, type RunSubmitted } from "../../domain/event.ts";
import { type History, type Lesson, learn, NO_HISTORY } from "../../domain/history.ts";
import { type RunManifest, type RunStatus, runNo } from "../../domain/run.ts";
import { packSpec, unpackSpec } from "../../domain/spec.ts";
import { invariant } from "../../std/invariant.ts";
import { err, ok } from "../../std/result.ts";
import { fromLedgerRow, type LedgerRow, toLedgerRow } from "../ledger.ts";
import type { RunRow, TaskRow } from "../rows.ts";
import type { Batch, Owner, PendingRequest, Request, Store, TaskWrite } from "../store.ts";
import { migrate, refuseNewer } from "./migrate.ts";
import { prepareStatements, type Statements } from "./statements.ts";

/** `full`: a commit is on the disk before it is answered. `normal`: a power cut may lose the last moments, never mix them up. */
export const DURABILITIES = ["full", "normal"] as const;
export type Durability = (typeof DURABILITIES)[number];

export interface SqliteOptions {
  readonly durability?: Durability;
  /** Readers change nothing, not even the schema. */
  readonly readOnly?: boolean;
}

const BUSY_MS = 5_000;
/** The first SQLite without the write-ahead-log reset bug: older ones may lose a commit. */
const SQLITE_MIN = [3, 51, 3] as const;
/** Pages of log after which it is folded back into the database: bounds its size at about 16 MB. */
const CHECKPOINT_PAGES = 4_000;
const EVENTS_MAX = 2 ** 31;

export function openSqliteStore(file: string, options: SqliteOptions = {}): Store {
  refuseOldSqlite(process.versions.sqlite ?? "0");
  const db = connect(file, options);
  try {
    return storeOn(db, prepareStatements(db), file);
  } catch (error) {
    db.close();
    throw asUserError(error, file);
  }
}

/** The database, as safe as was asked for and with the schema this version knows. */
export function connect(file: string, { durability = "full", readOnly = false }: SqliteOptions = {}): DatabaseSync {
  const db = openDatabase(file, readOnly);
  try {
    db.exec(`pragma busy_timeout = ${BUSY_MS}`);
    if (!readOnly) {
      db.exec("pragma journal_mode = wal");
      db.exec(`pragma synchronous = ${durability === "full" ? "full" : "normal"}`);
      db.exec(`pragma wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
      migrate(db, file);
    }
    refuseNewer(db, file);
    db.exec("pragma foreign_keys = off");
    return db;
  } catch (error) {
    db.close();
    throw asUserError(error, file);
  }
}

function openDatabase(file: string, readOnly: boolean): DatabaseSync {
  try {
    if (!readOnly && file !== ":memory:") mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    const db = new DatabaseSync(file, { readOnly });
    if (!readOnly && file !== ":memory:") chmodSync(file, 0o600);
    return db;
  } catch (error) {
    throw asUserError(error, file);
  }
}

function storeOn(db: DatabaseSync, sql: Statements, file: string): Store {
  const inTransaction = transactions(db);
  /** Whatever a verb meets in the file is told in words a person can act on. */
  const plainly = <T>(verb: () => T, otherwise: Otherwise = "STATE_UNUSABLE"): T => {
    try {
      return verb();
    } catch (error) {
      throw asUserError(error, file, otherwise);
    }
  };
  return {
    async acquire(owner, alive) {
      const take = () =>
        inTransaction(() => {
          const current = readOwner(sql);
          if (current !== undefined && alive(current)) return err(current);
          const { epoch } = sql.takeOwnership.get(JSON.stringify(owner)) as { epoch: number };
          return ok(epoch);
        });
      return plainly(take, "STORE_FAILED");
    },
    async release(epoch) {
      plainly(() => sql.dropOwnership.run(epoch), "STORE_FAILED");
    },
    async owner() {
      return plainly(() => readOwner(sql));
    },
    async commit(batch) {
      // The write lock is taken at once, so that nothing read in here can be out of date.
      db.exec("begin immediate");
      try {
        if (!writeBatch(sql, batch)) {
          db.exec("rollback");
          return err("ownership-lost");
        }
        db.exec("commit");
        return ok(undefined);
      } catch (error) {
        if (db.isTransaction) db.exec("rollback");
        throw asUserError(error, file, "STORE_FAILED");
      }
    },
    async runs() {
      return plainly(() => sql.allRuns.all().map(toRunRow));
    },
    async load(no) {
      const read = () => {
        const row = sql.oneRun.get(no);
        if (row === undefined) return undefined;
        const specs = sql.specsOfRun.all(no).map(({ spec }) => unpackSpec(JSON.parse(spec as string)));
        return { row: toRunRow(row), specs, tasks: sql.tasksOfRun.all(no).map(toTaskRow) };
      };
      return plainly(() => inTransaction(read, "deferred"));
    },
    async events({ run, task, after = 0, limit = EVENTS_MAX }) {
      const asked = { run: run ?? null, task: task ?? null, after, limit };
      return plainly(() => sql.events.all(asked).map((row) => fromLedgerRow(row as unknown as LedgerRow)));
    },
    async history(plan) {
      return readHistory(sql, plan);
    },
    async lastSeq() {
      return plainly(() => (sql.lastSeq.get() as { seq: number }).seq);
    },
    async request(request) {
      const { lastInsertRowid } = plainly(
        () => sql.insertRequest.run(request.at, JSON.stringify(request)),
        "STORE_FAILED",
      );
      return Number(lastInsertRowid);
    },
    async requests() {
      const pending = ({ no, body }: Row): PendingRequest => ({
        ...(JSON.parse(body as string) as Request),
        no: no as number,
      });
      return plainly(() => sql.allRequests.all().map(pending));
    },
    async check() {
      return db
        .prepare("pragma integrity_check")
        .all()
        .map(({ integrity_check }) => String(integrity_check))
        .filter((line) => line !== "ok");
    },
    async [Symbol.asyncDispose]() {
      if (db.isOpen) db.close();
    },
  };
}

/** False when the store has another owner, or a row is not what the batch takes it to be. */
function writeBatch(sql: Statements, batch: Batch): boolean {
  if (sql.holdsEpoch.get(batch.epoch) === undefined) return false;
  for (const submitted of batch.submitted) insertRun(sql, submitted);
  for (const run of batch.runs) {
    const { state } = run.status;
    sql.updateRun.run(state, outcomeOf(run.status), endedAt(run.status), Number(run.cancelling), run.no);
  }
  for (const write of batch.tasks) if (!writeTask(sql, write)) return false;
  for (const event of batch.events) insertEvent(sql, event);
  for (const no of batch.requestsDone) sql.deleteRequest.run(no);
  for (const { plan, lessons } of batch.lessons) remember(sql, plan, lessons);
  return true;
}

function insertRun(sql: Statements, { run, manifest, specs }: RunSubmitted): void {
  const { id, name, digest } = manifest;
  sql.insertRun.run(run, id, name, digest, JSON.stringify(manifest), specs.length, "active", null, null, 0);
  for (let no = 0; no < specs.length; no++) {
    const spec = specs[no];
    invariant(spec !== undefined, "specs are dense");
    sql.insertSpec.run(run, no, spec.id, JSON.stringify(packSpec(spec)));
  }
}

function writeTask(sql: Statements, { row, replaces }: TaskWrite): boolean {
  const { run, task, state, version, attempt, failures, expiries, since, notBefore, worker, deadline, tokenHash } = row;
  const detail = row.detail === null ? null : JSON.stringify(row.detail);
  const approved = Number(row.approved);
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
          row.lostBy,
          row.lane,
          detail,
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
          row.lostBy,
          row.lane,
          detail,
          run,
          task,
          replaces,
        );
  return changes === 1;
}

function remember(sql: Statements, plan: string, lessons: readonly Lesson[]): void {
  const { durations } = readHistory(sql, plan);
  let count = 0;
  let sum = 0;
  for (const { task, logMs, errorSquared } of lessons) {
    const known = learn(durations.get(task), logMs);
    sql.writeDuration.run(plan, task, known.count, known.meanLog);
    if (errorSquared === undefined) continue;
    count++;
    sum += errorSquared;
  }
  if (count > 0) sql.addEstimateError.run(plan, count, sum);
}

function readHistory(sql: Statements, plan: string): History {
  const rows = sql.durations.all(plan) as { task: string; count: number; mean_log: number }[];
  const error = sql.estimateError.get(plan) as { count: number; sum_of_squares: number } | undefined;
  return {
    durations: new Map(rows.map(({ task, count, mean_log: meanLog }) => [task, { count, meanLog }])),
    error: error === undefined ? NO_HISTORY.error : { count: error.count, sumOfSquares: error.sum_of_squares },
  };
}

function insertEvent(sql: Statements, event: Event): void {
  if (!isRecorded(event)) return;
  const { seq, at, run, task, version, attempt, kind, data } = toLedgerRow(event);
  sql.insertEvent.run(seq, at, run, task, version, attempt, kind, data);
}

type Row = Record<string, unknown>;

function toRunRow(row: Row): RunRow {
  const manifest = JSON.parse(row["manifest"] as string) as RunManifest;
  return {
    no: runNo(row["no"] as number),
    manifest,
    tasks: row["tasks"] as number,
    status: toRunStatus(row),
    cancelling: row["cancelling"] === 1,
  };
}

function toRunStatus({ state, ended_at: at, outcome }: Row): RunStatus {
  return (state === "active" ? { state } : state === "stalled" ? { state, at } : { state, at, outcome }) as RunStatus;
}

const toTaskRow = (row: Row): TaskRow =>
  ({
    run: row["run"],
    task: row["no"],
    state: row["state"],
    version: row["version"],
    attempt: row["attempt"],
    failures: row["failures"],
    expiries: row["expiries"],
    approved: row["approved"] === 1,
    since: row["since"],
    notBefore: row["not_before"],
    worker: row["worker"],
    deadline: row["expires_at"],
    tokenHash: row["token_hash"],
    lostBy: row["lost_by"],
    lane: row["lane"],
    detail: row["detail"] === null ? null : JSON.parse(row["detail"] as string),
  }) as TaskRow;

const outcomeOf = (status: RunStatus): string | null => (status.state === "finished" ? status.outcome : null);
const endedAt = (status: RunStatus): number | null => (status.state === "active" ? null : status.at);

function readOwner(sql: Statements): Owner | undefined {
  const { owner } = sql.ownership.get() as { owner: string | null };
  return owner === null ? undefined : (JSON.parse(owner) as Owner);
}

function transactions(db: DatabaseSync) {
  return <T>(change: () => T, mode: "immediate" | "deferred" = "immediate"): T => {
    db.exec(`begin ${mode}`);
    try {
      const result = change();
      db.exec("commit");
      return result;
    } catch (error) {
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
  };
}

export function refuseOldSqlite(version: string): void {
  const parts = version.split(".").map(Number);
  for (const [index, least] of SQLITE_MIN.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least) throw new UserError("SQLITE_OLD", `This Node has SQLite ${version}`);
  }
}

type Otherwise = "STATE_UNUSABLE" | "STORE_FAILED";

/** What SQLite throws, as something a person can act on. */
function asUserError(error: unknown, file: string, otherwise: Otherwise = "STATE_UNUSABLE"): unknown {
  // Nothing but JSON of our own was ever written.
  if (error instanceof SyntaxError)
    return new UserError("STORE_CORRUPT", `${file}: ${error.message}`, { cause: error });
  if (error instanceof UserError || !(error instanceof Error) || !("errcode" in error)) {
    if (error instanceof Error && "code" in error && "syscall" in error) {
      return new UserError(otherwise, `${file}: ${error.message}`, { cause: error });
    }
    return error;
  }
  const SQLITE_CORRUPT = 11;
  const SQLITE_NOTADB = 26;
  const primary = Number(error.errcode) & 0xff;
  const damaged = primary === SQLITE_CORRUPT || primary === SQLITE_NOTADB;
  return new UserError(damaged ? "STORE_CORRUPT" : otherwise, `${file}: ${error.message}`, { cause: error });
}

/** Opens the database, with the durability that was asked for and the schema that this version knows. */
import { dirname } from "node:path";
import { UserError } from "../../domain/errors.ts";
import type { Clock } from "../../effects/clock.ts";
import type { Owner } from "../store.ts";
import { asUserError, isUnopened } from "./failure.ts";
import { brokenLog } from "./log/check.ts";
import { migrate, refuseForeign } from "./migrate.ts";
import { type Database, type Platform, REAL } from "./platform.ts";
import { damaged } from "./sums/sums.ts";

/** `full`: a commit is on the disk before it is answered. `normal`: about a second later, so that a power cut may lose the last ones, never mix them up. */
export const DURABILITIES = ["full", "normal"] as const;
export type Durability = (typeof DURABILITIES)[number];

/** A batch of `from` rows or more goes to the writer thread. The thread starts for a batch of `atOnce` rows, or after `after` large batches. */
export interface Aside {
  readonly from: number;
  readonly atOnce: number;
  readonly after: number;
}

export interface SqliteOptions {
  /** Which batches are written by the writer thread. */
  readonly aside?: Aside;
  readonly durability?: Durability;
  /** The clock for syncing commits that are answered before they are on the disk. */
  readonly clock?: Pick<Clock, "now" | "at">;
  /** How many pages of log are written before it is folded back into the database, as soon as no caller waits for the store. */
  readonly foldAfter?: number;
  /** Whether the owner on record still schedules. Without it the owner's process is checked. */
  readonly lives?: (owner: Owner) => boolean;
  /** Readers change nothing, not even the schema. */
  readonly readOnly?: boolean;
  /** For a simulation. Large batches are then written here too, because a thread would not use this platform. */
  readonly platform?: Platform;
}

const BUSY_MS = 5_000;
/** The first SQLite without the write-ahead-log reset bug: older ones may lose a commit. */
const SQLITE_MIN = [3, 51, 3] as const;
/** About 16 MB. */
export const FOLD_AFTER = 4_000;
/** After this many pages it is folded within a commit, although a caller waits for that: there was no better moment. */
const FOLD_AT_ONCE = 2 * FOLD_AFTER;
/** A reader that stays keeps the log from being folded back. Once it has gone, the log is cut to this size again. */
const LOG_BYTES_MAX = 32 * 2 ** 20;

export function connect(file: string, { readOnly = false, platform = REAL }: SqliteOptions = {}): Database {
  // Before SQLite opens it: SQLite would take what comes after damage for never written, and remove it when it closes the file.
  const broken = readOnly || file === ":memory:" ? undefined : brokenLog(platform, placeOf(platform, file));
  if (broken !== undefined) throw asUserError(damaged(broken), file);
  if (!readOnly) makePlace(platform, file);
  const db = openDatabase(platform, file, readOnly);
  try {
    db.exec(`pragma busy_timeout = ${BUSY_MS}`);
    // Before it is read: its log has the same permissions as the file.
    if (!readOnly && file !== ":memory:") platform.files.makePrivate(file);
    // Before anything in it is changed, even its journal mode.
    refuseForeign(db, file);
    if (readOnly) return db;
    prepareToWrite(db);
    migrate(db, file);
    return db;
  } catch (error) {
    // Asked while the connection has what files it has: they may be what there are too many of.
    const reason = isUnopened(error) ? reasonOf(platform, file) : undefined;
    db.close();
    throw asUserError(reason ?? error, file);
  }
}

/** The real path of the file, with its log beside it, also behind a link. */
export function placeOf({ files }: Platform, file: string): string {
  try {
    return file === ":memory:" ? file : files.realpath(file);
  } catch {
    // The file will be created here.
    return file;
  }
}

/** One more connection for a program that has the file open already. */
export function connectBeside(file: string, durability: Durability): Database {
  const db = openDatabase(REAL, file, false);
  try {
    db.exec(`pragma busy_timeout = ${BUSY_MS}`);
    prepareToWrite(db);
    if (durability === "normal") relax(db);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/** From now on commits are answered before they are on the disk. */
export const relax = (db: Database): void => db.exec("pragma synchronous = normal");
export const stiffen = (db: Database): void => db.exec("pragma synchronous = full");

function prepareToWrite(db: Database): void {
  db.exec("pragma journal_mode = wal");
  stiffen(db);
  db.exec(`pragma wal_autocheckpoint = ${FOLD_AT_ONCE}`);
  db.exec(`pragma journal_size_limit = ${LOG_BYTES_MAX}`);
}

function makePlace({ files }: Platform, file: string): void {
  if (file === ":memory:") return;
  try {
    files.makeFolder(dirname(file));
  } catch (error) {
    throw asUserError(error, file);
  }
}

function openDatabase(platform: Platform, file: string, readOnly: boolean): Database {
  try {
    return platform.open(file, { readOnly });
  } catch (error) {
    throw asUserError(reasonOf(platform, file) ?? error, file);
  }
}

/** SQLite says only that it cannot open a file; the system says why. Nothing where the file is not there: SQLite would have made it. */
function reasonOf({ files }: Platform, file: string): unknown {
  try {
    files.open(file).close();
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT" ? undefined : error;
  }
}

export function refuseOldSqlite(version: string): void {
  const parts = version.split(".").map(Number);
  for (const [index, least] of SQLITE_MIN.entries()) {
    const part = parts[index] ?? 0;
    if (part > least) return;
    if (part < least) throw new UserError("SQLITE_OLD", `This Node has SQLite ${version}`);
  }
}

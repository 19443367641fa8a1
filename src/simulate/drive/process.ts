/** What one process has of the drive: its connections and files, which fail when the drive does, and are closed without notice when it dies. */
import { later, millis } from "../../domain/time.ts";
import { type Database, type OpenFile, type Platform, REAL } from "../../store/sqlite/platform.ts";
import type { VirtualClock } from "../clock.ts";
import type { Chance } from "../faults/seed/chance.ts";
import { DiskError } from "../faults/world/medium.ts";
import { watched } from "./connection.ts";
import type { Synced } from "./synced.ts";

/** An error as `node:sqlite` throws it. */
export class SqliteFault extends DiskError {
  readonly code = "ERR_SQLITE_ERROR";
  readonly errcode: number;

  constructor(message: string, errcode: number) {
    super(message);
    this.errcode = errcode;
  }
}

/** The state of the drive, for all processes. */
export interface Wear {
  readonly chance: Chance;
  readonly clock: VirtualClock;
  readonly failsToSync: () => boolean;
  /** Told of each transaction that has changed something, at the moment it is there. */
  readonly committed: () => void;
  /** `for SQLite`: SQLite finds out when the database would have to grow. `at the commit`: every transaction fails at its end. */
  full: "no" | "for SQLite" | "at the commit";
  /** The number of boots so far. */
  boot: number;
}

export interface Process {
  readonly platform: Platform;
  /** Statements until the next failure; at the latest the statement after the commit fails. */
  failsIn: number | undefined;
  /** Tells SQLite how large the database may become. */
  limit(): void;
  /** Folds the log back. */
  fold(): void;
  die(): void;
}

const SYNC_MAX_MS = 300;
const PAGES_MAX = 2 ** 32 - 2;
const SQLITE_IOERR = 10;
const SQLITE_FULL = 13;
const FOLD = "pragma wal_checkpoint(passive)";

export function processOn(wear: Wear, synced: Synced, lastSeq: () => number): Process {
  const connections = new Set<Database>();
  const files = new Set<OpenFile>();
  let isDead = false;
  const limit = (db: Database): void =>
    db.exec(`pragma max_page_count = ${wear.full === "for SQLite" ? 1 : PAGES_MAX}`);
  const process: Process = {
    failsIn: undefined,
    platform: {
      open(file, options) {
        const db = REAL.open(file, options);
        connections.add(db);
        if (wear.full !== "no") limit(db);
        return watched(db, watch());
      },
      files: {
        ...REAL.files,
        open: (path) => opened(REAL.files.open(path)),
        save(path, bytes) {
          if (wear.full !== "no") throw fileError("ENOSPC", "write");
          REAL.files.save(path, bytes);
          synced.mark = Buffer.from(bytes);
        },
      },
      boot: () => `boot ${wear.boot}`,
    },
    limit: () => connections.forEach(limit),
    fold: () => [...connections][0]?.exec(FOLD),
    die() {
      isDead = true;
      for (const each of files) each.close();
      for (const each of connections) each.close();
    },
  };
  return process;

  /** SQLite syncs each commit itself, until the connection is told otherwise. */
  function watch() {
    let [isWriting, isStrict] = [false, true];
    return {
      before(sql: string): void {
        if (process.failsIn !== undefined && sql !== "rollback" && process.failsIn-- === 0) {
          process.failsIn = undefined;
          throw new SqliteFault("disk I/O error", SQLITE_IOERR);
        }
        if (sql === "begin immediate") {
          isWriting = true;
          if (!isStrict) synced.beginsToLag();
        }
        if (sql === "commit" && isWriting && wear.full === "at the commit")
          throw new SqliteFault("database or disk is full", SQLITE_FULL);
      },
      after(sql: string): void {
        if (sql.startsWith("pragma synchronous = ")) isStrict = sql.endsWith("full");
        if (sql === FOLD) synced.all(lastSeq());
        if (sql === "rollback") isWriting = false;
        if (sql !== "commit" || !isWriting) return;
        isWriting = false;
        wear.committed();
        if (isStrict) synced.all(lastSeq());
        if (process.failsIn === undefined) return;
        process.failsIn = undefined;
        throw new SqliteFault("disk I/O error, although it was written", SQLITE_IOERR);
      },
    };
  }

  function opened(file: OpenFile): OpenFile {
    files.add(file);
    return {
      read: (count, at) => file.read(count, at),
      write(bytes, at) {
        if (wear.full !== "no") throw fileError("ENOSPC", "write");
        file.write(bytes, at);
      },
      sync: () =>
        new Promise((resolve, reject) => {
          const end = synced.begin(lastSeq());
          const { clock } = wear;
          clock.at(later(clock.now(), millis(wear.chance.whole(0, SYNC_MAX_MS))), () => {
            // The process that waited for the sync is dead.
            if (isDead) return;
            if (wear.failsToSync()) return reject(fileError("EIO", "fdatasync"));
            end();
            resolve();
          });
        }),
      close() {
        files.delete(file);
        file.close();
      },
    };
  }
}

const fileError = (code: string, syscall: string): Error =>
  Object.assign(new DiskError(`${code}: it is a bad disk, ${syscall}`), { code, syscall });

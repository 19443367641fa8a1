/**
 * A new database is a copy of one that the build has made: empty, with the schema of this version and ready for a write-ahead log. To make it
 * here would take six changes of the file, each synced, before the first word is written to it.
 */
import { closeSync, existsSync, fsyncSync, linkSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";

/** Not there when this runs from source: then a new database is made as any older one is brought up to date. */
const BLANK = new URL("./blank.db", import.meta.url);

/** What SQLite has beside a database. Left without one it is of an earlier one, and must not be taken for the new one's. */
const BESIDE = ["-wal", "-shm", "-journal"] as const;

/**
 * Puts it there where nothing is, whole or not at all: whoever comes at the same moment finds one of the two. The folder is synced with the
 * first commit, as for any new log. Where it cannot be done, whoever opens the database makes it, or says why that cannot be done either.
 */
export function layBlank(file: string, blank: URL = BLANK): void {
  if (["", ...BESIDE].some((end) => existsSync(`${file}${end}`))) return;
  const aside = `${file}.${process.pid}.new`;
  try {
    writeSynced(aside, readFileSync(blank));
    linkSync(aside, file);
  } catch {
    // There is none, or somebody was quicker, or the disk would rather not.
  } finally {
    rmSync(aside, { force: true });
  }
}

function writeSynced(path: string, bytes: Uint8Array): void {
  // One that was left there may be the database itself, by another name, of somebody who was killed.
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

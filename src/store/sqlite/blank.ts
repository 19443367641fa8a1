/**
 * A new database is a copy of one that the build has made: empty, with the schema of this version and ready for a write-ahead log. To make it
 * here would take six changes of the file, each synced, before the first word is written to it.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** Not there when this runs from source: then a new database is made as any older one is brought up to date. */
const BLANK = new URL("./blank.db", import.meta.url);

/** What a copy is called before it is the database. */
const ASIDE = ".new-";

/** What SQLite has beside a database. Left without one it is of an earlier one, and must not be taken for the new one's. */
const BESIDE = ["-wal", "-shm", "-journal"] as const;

/**
 * Puts it there where nothing is, whole or not at all: whoever comes at the same moment finds one of the two. The folder is synced with the
 * first commit, as for any new log. Where it cannot be done, whoever opens the database makes it, or says why that cannot be done either.
 */
export function layBlank(file: string, blank: URL = BLANK): void {
  try {
    for (const left of leftBeside(file)) rmSync(left, { recursive: true, force: true });
    if (["", ...BESIDE].some((end) => existsSync(`${file}${end}`))) return;
    const bytes = readFileSync(blank);
    // A folder of its own, by a name that nobody else has.
    const aside = mkdtempSync(`${file}${ASIDE}`);
    try {
      const copy = join(aside, basename(file));
      writeSynced(copy, bytes);
      linkSync(copy, file);
    } finally {
      rmSync(aside, { recursive: true, force: true });
    }
  } catch {
    // There is none, or somebody was quicker, or the disk would rather not.
  }
}

/**
 * By those who were killed at it, also after they had put it there. Whoever is at it at this very moment loses theirs too, and makes the
 * database instead, or has no use for it any more because it is there.
 */
const leftBeside = (file: string): readonly string[] =>
  readdirSync(dirname(file))
    .filter((name) => name.startsWith(`${basename(file)}${ASIDE}`))
    .map((name) => join(dirname(file), name));

function writeSynced(path: string, bytes: Uint8Array): void {
  const file = openSync(path, "wx", 0o600);
  try {
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

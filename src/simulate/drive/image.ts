/** The files of a store on the disk at one moment, and what is left of them when writing is interrupted. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { makeFolders } from "../../effects/folders.ts";
import { endOfLog, placeInLog } from "../../store/sqlite/log/check.ts";
import type { Position } from "../../store/sqlite/log/mark.ts";
import type { Chance } from "../faults/seed/chance.ts";

export interface Image {
  readonly db: Buffer;
  readonly wal: Buffer;
  /** The file that says how much of the log is on the disk, where there is one. */
  readonly mark: Buffer;
}

const NONE = Buffer.alloc(0);
const contentOf = (path: string): Buffer => (existsSync(path) ? readFileSync(path) : NONE);

export const takeImage = (file: string): Image => ({
  db: readFileSync(file),
  wal: contentOf(`${file}-wal`),
  mark: contentOf(`${file}-synced`),
});

/** Without the index of the log, as after a power cut: SQLite makes it again from the log. */
export function layDown(file: string, { db, wal, mark }: Image): void {
  makeFolders(dirname(file));
  for (const end of ["-shm", "-wal", "-synced"]) rmSync(`${file}${end}`, { force: true });
  writeFileSync(file, db);
  if (wal.length > 0) writeFileSync(`${file}-wal`, wal);
  if (mark.length > 0) writeFileSync(`${file}-synced`, mark);
}

const PAGE = 4_096;
const SECTOR = 512;

/** Where the unsynced bytes of a log begin: after the synced pages, or after the header of a log that was restarted. */
export const unsyncedFrom = ({ salts, pages }: Position, wal: Buffer): number =>
  placeInLog(endOfLog(wal).salts === salts ? pages : 0, PAGE);

/** The writer died: its bytes are there up to some place. */
export function brokenOff(before: Buffer, after: Buffer, from: number, chance: Chance): Buffer {
  const to = from + Math.floor(chance.next() * (after.length - from + 1));
  const wal = Buffer.from(after);
  return asBefore(wal, before, to, wal.length);
}

/** The power went: each sector after `from` has its new content, its old content, or rarely neither. */
export function torn(before: Buffer, after: Buffer, from: number, chance: Chance): Buffer {
  const isShort = chance.flip(0.3);
  const wal = Buffer.from(after.subarray(0, isShort ? chance.whole(from, Math.max(from, after.length)) : after.length));
  const [olds, garbage] = [chance.pick([0, 0.1, 0.5, 1]), chance.pick([0, 0, 0.05])];
  for (let at = from; at < wal.length; at += SECTOR - (at % SECTOR)) {
    const end = Math.min(at + SECTOR - (at % SECTOR), wal.length);
    const fate = chance.next();
    if (fate < garbage) for (let each = at; each < end; each++) wal[each] = chance.whole(0, 255);
    else if (fate < garbage + olds) asBefore(wal, before, at, end);
  }
  return wal;
}

function asBefore(wal: Buffer, before: Buffer, from: number, to: number): Buffer {
  wal.fill(0, from, to);
  if (from < before.length) before.copy(wal, from, from, to);
  return wal;
}

/** Some pages of `after`, the others of `before`: the log was being folded back into the database. */
export function mixed(before: Buffer, after: Buffer, chance: Chance): Buffer {
  const db = Buffer.from(after.subarray(0, chance.flip(0.5) ? after.length : Math.max(before.length, PAGE)));
  for (let at = 0; at < db.length; at += PAGE) {
    if (chance.flip(0.5) && at + PAGE <= before.length) before.copy(db, at, at, at + PAGE);
  }
  return db;
}

/**
 * Checks the write-ahead log before SQLite reads it. SQLite reads up to the first page whose checksum is wrong, and takes what follows for
 * never written. After a power cut that is right. But if bytes were changed in the middle, commits that were answered would silently be lost.
 * Each page carries the sum of all before it, so it can still be told whether a page was written after another: behind a broken page there is
 * then a commit that ended before another one began. Where every commit is synced before it is answered, that is damage. Where commits are
 * synced later, a power cut may leave the same among the commits that were not synced (`log-mark.ts`).
 */

import type { Files, Platform } from "../platform.ts";
import { isOfEarlierBoot, NOWHERE, type Position, readMark } from "./mark.ts";

const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;
/** Where the log's header has its salts, which every page of it repeats. */
export const SALTS_AT = 16;
export const SALT_BYTES = 8;
export const saltsIn = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
/** The mark of a log whose sums use the byte order of this machine, as nearly all machines do. */
const MAGIC = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1 ? 0x377f0682 : 0x377f0683;

/** In a sentence, when commits that were answered can no longer be read. */
export function brokenLog(platform: Pick<Platform, "files" | "boot">, database: string): string | undefined {
  const { files } = platform;
  const found = findBreak(files, database);
  if (found === undefined) return undefined;
  const { first, salts, lost } = found;
  const mark = readMark(files, database);
  const isSynced = mark === undefined || (mark.salts === salts && first < mark.pages);
  if (!isSynced && isOfEarlierBoot(mark, platform)) return undefined;
  return `${lost} pages of its log were written after a damaged page. Put a backup back, or move ${database}-wal away to go on without them`;
}

/** How far SQLite reads these bytes of a log: up to the end of the last complete commit. */
export function endOfLog(bytes: Buffer): Position {
  const log = Log.of(bytes);
  if (log === undefined) return NOWHERE;
  let pages = 0;
  for (let no = 0; log.isReadable && no < log.frames && log.isWhole(no); no++) if (log.endsCommit(no)) pages = no + 1;
  return { salts: log.salts, pages };
}

/** The offset in the file of the page that follows this many pages. */
export const placeInLog = (pages: number, pageBytes: number): number =>
  HEADER_BYTES + pages * (FRAME_HEADER_BYTES + pageBytes);

/** The first page whose checksum is wrong. */
interface Break {
  readonly first: number;
  /** The salts of the log it stands in. */
  readonly salts: string;
  /** How many pages of later commits follow it. */
  readonly lost: number;
}

function findBreak(files: Pick<Files, "read">, database: string): Break | undefined {
  const seen = scan(files, database);
  if (seen === undefined) return undefined;
  // A scheduler may be writing: a page that was incomplete at the first look is complete at the second.
  const again = scan(files, database);
  return again?.first === seen.first ? again : undefined;
}

function scan(files: Pick<Files, "read">, database: string): Break | undefined {
  const bytes = read(files, `${database}-wal`);
  const log = bytes && Log.of(bytes);
  if (log === undefined) return undefined;
  let first = 0;
  while (log.isReadable && first < log.frames && log.isWhole(first)) first++;
  // A commit that was being written when the power went may have reached the disk in any order; each commit before it was complete.
  let ended = false;
  let lost = 0;
  for (let no = first; no < log.frames; no++) {
    if (!log.isOwn(no) || (no > first && !log.isWhole(no))) continue;
    if (ended) lost++;
    if (log.endsCommit(no)) ended = true;
  }
  return lost === 0 ? undefined : { first, salts: log.salts, lost };
}

class Log {
  readonly #view: DataView;
  readonly #words: Uint32Array;
  readonly #frameBytes: number;
  /** The offset of the salts that all pages of this log share. */
  readonly #salts: number;
  readonly frames: number;
  /** Whether SQLite reads any of it. */
  readonly isReadable: boolean;

  /** Nothing when the log was not written on a machine of this byte order. */
  static of(bytes: Buffer): Log | undefined {
    if (bytes.length < HEADER_BYTES || bytes.byteOffset % 4 !== 0) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const pageBytes = view.getUint32(8);
    if (view.getUint32(0) !== MAGIC || pageBytes < 512 || pageBytes > 65_536) return undefined;
    return new Log(bytes, view, FRAME_HEADER_BYTES + pageBytes);
  }

  private constructor(bytes: Buffer, view: DataView, frameBytes: number) {
    this.#view = view;
    this.#words = new Uint32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4));
    this.#frameBytes = frameBytes;
    this.frames = Math.floor((bytes.length - HEADER_BYTES) / frameBytes);
    const [low, high] = this.#sum(0, 0, 0, HEADER_BYTES - 8);
    this.isReadable = low === view.getUint32(24) && high === view.getUint32(28);
    this.#salts = this.isReadable || this.frames === 0 ? SALTS_AT : HEADER_BYTES + 8;
  }

  get salts(): string {
    return saltsIn(new Uint8Array(this.#view.buffer, this.#view.byteOffset + this.#salts, SALT_BYTES));
  }

  /** Whether the salts say that the page belongs to this log, and not to an earlier one at the same place. */
  isOwn(no: number): boolean {
    const [view, at] = [this.#view, this.#at(no) + 8];
    return (
      view.getUint32(at) === view.getUint32(this.#salts) && view.getUint32(at + 4) === view.getUint32(this.#salts + 4)
    );
  }

  /** The last page of a commit carries the size of the database after it. */
  endsCommit(no: number): boolean {
    return this.#view.getUint32(this.#at(no) + 4) !== 0;
  }

  /** Whether the checksum follows from the sum before it and the page's own bytes. */
  isWhole(no: number): boolean {
    if (!this.isOwn(no)) return false;
    const at = this.#at(no);
    const before = no === 0 ? HEADER_BYTES - 8 : at - this.#frameBytes + 16;
    const start = this.#sum(this.#view.getUint32(before), this.#view.getUint32(before + 4), at, at + 8);
    const [low, high] = this.#sum(start[0], start[1], at + FRAME_HEADER_BYTES, at + this.#frameBytes);
    return low === this.#view.getUint32(at + 16) && high === this.#view.getUint32(at + 20);
  }

  #at(no: number): number {
    return HEADER_BYTES + no * this.#frameBytes;
  }

  #sum(lowBefore: number, highBefore: number, from: number, to: number): readonly [number, number] {
    const words = this.#words;
    let [low, high] = [lowBefore | 0, highBefore | 0];
    for (let word = from >> 2; word < to >> 2; word += 2) {
      low = (low + (words[word] as number) + high) | 0;
      high = (high + (words[word + 1] as number) + low) | 0;
    }
    return [low >>> 0, high >>> 0];
  }
}

function read(files: Pick<Files, "read">, path: string): Buffer | undefined {
  try {
    return files.read(path);
  } catch {
    // There is no log, or it cannot be read: SQLite will report that.
    return undefined;
  }
}

/**
 * The daybook: a small file in which commits are entered one by one, before they are posted to the tables, many at once. An entry is one
 * write over what the file has already, past the system's caches: a third of the time that SQLite takes for the eight pages which even
 * the smallest commit changes. What was entered and not posted is found again by whoever opens the store next.
 */
import {
  closeSync,
  constants,
  fchownSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { sumOf } from "./sums.ts";

/** What the disk writes at once, so that an entry never shares with another what may be lost with it. */
const BLOCK = 4_096;
const BLOCKS = 64;
const BYTES = BLOCKS * BLOCK;
/** What stands before an entry: whose it is, its number, its length and its sum, filled up with blanks. No text of ours has such a line. */
const HEAD = 128;
const HEAD_LINE = /^rota-entry (\S+) (\d+) (\d+) (-?\d+) *\n$/;
/** A character is at most so many bytes. */
const CHARACTER_BYTES = 3;
/** Where memory begins that was asked for by itself, seen from the next page. It is tried first. */
const USUAL_START = BLOCK - 16;
const STEP = 16;

export interface Entry {
  readonly serial: number;
  readonly text: string;
}

/** Beside the database. One that was taken away from whoever entered there has the other name until it is posted. */
const daybookOf = (file: string): string => `${file}-daybook`;
const takenOf = (file: string): string => `${file}-daybook-taken`;
const asideOf = (file: string, id: string): string => `${file}-daybook-new-${id}`;

export class Daybook {
  readonly #path: string;
  /** Where it lies before it is put in its place. */
  readonly #aside: string;
  /** Its name. */
  readonly id: string;
  readonly #descriptor: number;
  readonly #inode: number;
  readonly #buffer: Buffer;
  /** Where in the buffer the disk takes it from. */
  readonly #start: number;
  #next = 0;

  /** An empty one that nobody knows of yet. Nothing where there is no room for it, or no such way to write. */
  static lay(file: string, id: string): Daybook | undefined {
    if (constants.O_DSYNC === undefined) return undefined;
    const aside = asideOf(file, id);
    try {
      layBlocks(aside, file);
      return new Daybook(file, id);
    } catch {
      rmSync(aside, { force: true });
      return undefined;
    }
  }

  private constructor(file: string, id: string) {
    this.#path = daybookOf(file);
    this.#aside = asideOf(file, id);
    this.id = id;
    this.#buffer = Buffer.allocUnsafeSlow(BYTES + BLOCK).fill(0);
    const { descriptor, start } = openAligned(this.#aside, this.#buffer);
    this.#descriptor = descriptor;
    this.#start = start;
    this.#inode = fstatSync(descriptor).ino;
  }

  /** Under the name by which everybody finds it. It is known to be there when this returns. */
  putInPlace(): void {
    renameSync(this.#aside, this.#path);
    syncFolder(this.#path);
  }

  /** It should be posted when there is time. */
  get isHalfFull(): boolean {
    return this.#next >= BLOCKS / 2;
  }

  /** Whether it is on the disk now; not where there is no room left for it. */
  enter({ serial, text }: Entry): boolean {
    if (HEAD + text.length * CHARACTER_BYTES > BYTES) return false;
    const bytes = this.#buffer.write(text, this.#start + HEAD, "utf8");
    const head = `rota-entry ${this.id} ${serial} ${bytes} ${sumOf("daybook", this.id, serial, text)}`;
    this.#buffer.write(`${head.padEnd(HEAD - 1)}\n`, this.#start, "latin1");
    const blocks = Math.ceil((HEAD + bytes) / BLOCK);
    if (this.#next + blocks > BLOCKS) return false;
    const length = blocks * BLOCK;
    const written = writeSync(this.#descriptor, this.#buffer, this.#start, length, this.#next * BLOCK);
    if (written !== length) throw new Error(`${this.#path}: only ${written} of ${length} bytes were written`);
    this.#next += blocks;
    return true;
  }

  /** Whether another has taken it away: to be asked after entering. Who takes it reads it afterwards, so what was there before is not lost. */
  get isTaken(): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.ino !== this.#inode;
  }

  /** Everything in it is posted: begins at its beginning again. */
  clear(): void {
    this.#next = 0;
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Everything in it is posted. It stays open until it is closed. */
  remove(): void {
    if (!this.isTaken) rmSync(this.#path, { force: true });
  }

  /** It was not put in its place. */
  discard(): void {
    rmSync(this.#aside, { force: true });
    this.close();
  }
}

/** From now on nobody who has it open enters anything that counts. Those that were never put in their place are nobody's. */
export function takeAway(file: string): void {
  const begun = basename(asideOf(file, ""));
  for (const name of readdirSync(dirname(file)))
    if (name.startsWith(begun)) rmSync(join(dirname(file), name), { force: true });
  if (statSync(daybookOf(file), { throwIfNoEntry: false }) !== undefined) renameSync(daybookOf(file), takenOf(file));
}

export const forgetTaken = (file: string): void => rmSync(takenOf(file), { force: true });

/** What there is in this daybook after so much had been posted, in order. Some may be missing. */
export function entriesAfter(file: string, id: string, posted: number): readonly Entry[] {
  const found = new Map<number, string>();
  // In this order: one that is taken away meanwhile is then found twice, and not missed.
  for (const path of [daybookOf(file), takenOf(file)])
    for (const { serial, text } of entriesIn(path, id)) if (serial > posted) found.set(serial, text);
  return [...found].map(([serial, text]) => ({ serial, text })).sort((a, b) => a.serial - b.serial);
}

/** Each was on the disk before the next was begun: one that is missing before another was there, and is not any more. */
export function missingIn(entries: readonly Entry[], posted: number): number | undefined {
  const at = entries.findIndex(({ serial }, index) => serial !== posted + 1 + index);
  return at < 0 ? undefined : posted + 1 + at;
}

export const whatToMove = (file: string): string =>
  `Put a backup back, or, while no scheduler works, move ${daybookOf(file)} (and ${basename(takenOf(file))}, where there is one) away to go on without it and all after it`;

function* entriesIn(path: string, id: string): Generator<Entry> {
  const bytes = contentOf(path);
  for (let at = 0; at + HEAD <= bytes.length; ) {
    const entry = entryAt(bytes, at, id);
    if (entry !== undefined) yield entry;
    at += BLOCK * (entry === undefined ? 1 : Math.ceil((HEAD + Buffer.byteLength(entry.text)) / BLOCK));
  }
}

function entryAt(bytes: Buffer, at: number, id: string): Entry | undefined {
  const head = HEAD_LINE.exec(bytes.toString("latin1", at, at + HEAD));
  if (head === null || head[1] !== id) return undefined;
  const [serial, length, sum] = head.slice(2).map(Number) as [number, number, number];
  const text = bytes.toString("utf8", at + HEAD, at + HEAD + length);
  return sumOf("daybook", id, serial, text) === sum ? { serial, text } : undefined;
}

function contentOf(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return Buffer.alloc(0);
    throw error;
  }
}

/** As long as it will ever be, so that entering something changes nothing but what is written. It belongs to whom the database belongs to. */
function layBlocks(path: string, database: string): void {
  rmSync(path, { force: true });
  const file = openSync(path, "wx", 0o600);
  try {
    const written = writeSync(file, Buffer.alloc(BYTES));
    if (written !== BYTES) throw new Error(`${path}: there is room for ${written} bytes only`);
    const { uid, gid } = statSync(database);
    if (uid !== process.geteuid?.()) fchownSync(file, uid, gid);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Past the caches where the file system knows how to. The disk then takes only what begins where its own blocks would. */
function openAligned(path: string, buffer: Buffer): { readonly descriptor: number; readonly start: number } {
  const flags = constants.O_RDWR | constants.O_DSYNC;
  if (constants.O_DIRECT !== undefined) {
    const descriptor = tryOpen(path, flags | constants.O_DIRECT);
    const start = descriptor === undefined ? undefined : startOrClose(buffer, descriptor);
    if (descriptor !== undefined && start !== undefined) return { descriptor, start };
  }
  return { descriptor: openSync(path, flags), start: 0 };
}

function startOrClose(buffer: Buffer, descriptor: number): number | undefined {
  let start: number | undefined;
  try {
    start = startIn(buffer, descriptor);
    return start;
  } finally {
    if (start === undefined) closeSync(descriptor);
  }
}

function startIn(buffer: Buffer, descriptor: number): number | undefined {
  for (let tries = 0; tries < BLOCK / STEP; tries++) {
    const start = (USUAL_START + tries * STEP) % BLOCK;
    if (takes(descriptor, buffer, start)) return start;
  }
  return undefined;
}

function takes(descriptor: number, buffer: Buffer, start: number): boolean {
  try {
    return writeSync(descriptor, buffer, start, BLOCK, 0) === BLOCK;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EINVAL") return false;
    throw error;
  }
}

function tryOpen(path: string, flags: number): number | undefined {
  try {
    return openSync(path, flags);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EINVAL") return undefined;
    throw error;
  }
}

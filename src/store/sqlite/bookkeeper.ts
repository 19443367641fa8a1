/** Keeps the daybook of the store's owner: has one laid once it is worth it, enters what is small, and posts it when there is time. */
import type { RunId } from "../../domain/ids.ts";
import type { Batch, Epoch, Remembrance, StoredRun } from "../store.ts";
import { advanceBookmark, readBookmark, writeBookmark } from "./bookmark.ts";
import { Daybook, type Entry } from "./daybook.ts";
import { postEntries, postFile, textOf } from "./posting.ts";
import type { Target } from "./read.ts";
import type { Sheet } from "./sheet.ts";
import { type Fit, Versions } from "./versions.ts";

/** With more rows, one transaction for all of them takes no longer than entering them first. */
const ROWS_MAX = 48;
/** A daybook takes as long to lay as it saves in so many commits. Most runs are short. */
export const LAID_AFTER = 8;

export interface BookkeeperDeps {
  readonly file: string;
  /** Commits after which a daybook is laid; never when absent. */
  readonly laidAfter: number | undefined;
  /** One transaction, on the disk when this returns. */
  readonly write: <T>(verb: (target: Target) => T) => T;
}

/** What the sheet refers to goes on changing: it is the text that is posted. */
interface Entered extends Entry {
  readonly sheet: Pick<Sheet, "rows" | "runs" | "answers">;
}

export class Bookkeeper {
  readonly #deps: BookkeeperDeps;
  #versions = new Versions();
  #epoch: Epoch | undefined;
  #daybook: Daybook | undefined;
  /** Whether it was tried to lay one: where that cannot be done, it is not tried again. */
  #tried = false;
  #commits = 0;
  #serial = 0;
  #unposted: Entered[] = [];

  constructor(deps: BookkeeperDeps) {
    this.#deps = deps;
  }

  /** Whether what is entered is entered here, so that nobody else's daybook need be looked into. */
  get keepsBook(): boolean {
    return this.#daybook !== undefined;
  }

  /** Whether something was entered of this run that is not in the tables. */
  hasNewsOf(run: RunId): boolean {
    return this.#unposted.some(
      ({ sheet }) => sheet.rows.newRuns.includes(run) || sheet.runs.some(({ manifest }) => manifest.id === run),
    );
  }

  /** What the key has led to, as far as it was entered and is not in the tables. */
  recall(key: string): Remembrance | undefined {
    for (const { sheet } of this.#unposted) {
      const found = sheet.answers.find((each) => each.key === key);
      if (found !== undefined) return found.answer;
    }
    return undefined;
  }

  /** The store is this one's from now on. What another had entered is posted. */
  takeOver(epoch: Epoch): void {
    this.forsake();
    [this.#epoch, this.#tried, this.#versions] = [epoch, false, new Versions()];
  }

  /** A run that the owner has read whole. */
  learn(stored: StoredRun): void {
    if (this.#epoch !== undefined) this.#versions.learn(stored);
  }

  /** Whether the batch takes the rows to be what they are; it is then taken to have been written. */
  fit(batch: Batch): Fit {
    return batch.epoch === this.#epoch ? this.#versions.take(batch) : "unknown";
  }

  /** The number of the next commit, which is taken to be made; none while no daybook is in use. */
  number(epoch: Epoch): number | undefined {
    this.#commits++;
    return this.#daybook === undefined || epoch !== this.#epoch ? undefined : ++this.#serial;
  }

  /** Part of every transaction that is no commit of a batch: it has a number, too, where the daybook is still in use. */
  count(target: Target): void {
    if (this.#daybook !== undefined && readBookmark(target)?.book !== this.#daybook.id) this.forsake();
    if (this.#daybook === undefined) postFile(this.#deps.file, target);
    else advanceBookmark(target, ++this.#serial);
  }

  /** True once it is on the disk, false when the store is another's; nothing when it is not for the daybook. */
  enter(sheet: Sheet, fit: Fit): boolean | undefined {
    const { serial } = sheet;
    if (this.#daybook === undefined || serial === undefined || sheet.size > ROWS_MAX || fit === "unknown")
      return undefined;
    if (fit === "differs") return false;
    const entry: Entered = { serial, text: textOf(sheet), sheet };
    if (!this.#daybook.enter(entry)) {
      this.post();
      if (!this.#daybook.enter(entry)) return undefined;
    }
    if (this.#daybook.isTaken) return this.#dispossessed();
    this.#unposted.push(entry);
    return true;
  }

  /** Everything that was entered is in the tables when this returns. */
  post(): void {
    const { file, write } = this.#deps;
    const daybook = this.#daybook;
    if (daybook === undefined || this.#unposted.length === 0) return;
    write((target) => postEntries(file, target, this.#unposted));
    this.#unposted = [];
    daybook.clear();
  }

  /** What nobody waits for. */
  tend(): void {
    const { laidAfter } = this.#deps;
    if (this.#daybook?.isHalfFull === true) this.post();
    else if (!this.#tried && laidAfter !== undefined && this.#commits >= laidAfter) this.#lay();
  }

  /** Something was not written, so that numbers are no longer what they should be. What was entered is found in the file. */
  forsake(): void {
    const daybook = this.#daybook;
    [this.#daybook, this.#unposted, this.#tried] = [undefined, [], true];
    daybook?.close();
  }

  /** Nothing more is entered. What cannot be posted now stays where it is, for whoever opens the store next. */
  close(): void {
    const daybook = this.#daybook;
    try {
      this.post();
      // Whoever takes the store over lays theirs in its place, but not while nobody else can write.
      if (daybook !== undefined) this.#deps.write((target) => this.#isOwner(target) && daybook.remove());
    } catch {
      // It is posted by whoever comes next.
    } finally {
      this.forsake();
    }
  }

  /** False when the store is another's. Otherwise somebody has only taken the file away: everything in it is posted, and nothing more entered. */
  #dispossessed(): false | undefined {
    if (!this.#deps.write((target) => this.#isOwner(target))) return false;
    this.post();
    this.forsake();
    return undefined;
  }

  /** Put in its place, and the store told of it, while nobody else can write: so it is never laid over another's. */
  #lay(): void {
    const { file, write } = this.#deps;
    const epoch = this.#epoch;
    if (epoch === undefined) return;
    this.#tried = true;
    const daybook = Daybook.lay(file, String(epoch));
    if (daybook === undefined) return;
    let posted: number | undefined;
    try {
      posted = write((target) => (this.#isOwner(target) ? opened(target, daybook) : undefined));
    } finally {
      if (posted === undefined) daybook.discard();
      else [this.#daybook, this.#serial] = [daybook, posted];
    }
  }

  #isOwner({ write }: Target): boolean {
    return this.#epoch !== undefined && write.holdsEpoch.get(this.#epoch) !== undefined;
  }
}

/** How far the one before was posted: the next goes on from there. */
function opened(target: Target, daybook: Daybook): number {
  const posted = readBookmark(target)?.posted ?? 0;
  daybook.putInPlace();
  writeBookmark(target, { book: daybook.id, posted });
  return posted;
}

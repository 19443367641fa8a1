/** Keeps the daybook of the store's owner: has one laid once it is worth it, enters what is small, and posts it when there is time. */
import type { RunId } from "../../domain/ids.ts";
import type { Epoch, Remembrance } from "../store.ts";
import { readBookmark, writeBookmark } from "./bookmark.ts";
import { Daybook, type Entry } from "./daybook.ts";
import { postEntries, textOf } from "./posting.ts";
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
  readonly versions = new Versions();
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
    [this.#epoch, this.#tried] = [epoch, false];
    if (this.#deps.laidAfter === 0) this.#lay();
  }

  /** The number of the next commit, which is taken to be made; none while no daybook is in use. */
  number(epoch = this.#epoch): number | undefined {
    this.#commits++;
    return this.#daybook === undefined || epoch !== this.#epoch ? undefined : ++this.#serial;
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
    if (this.#daybook.isTaken) return false;
    this.#unposted.push(entry);
    return true;
  }

  /** Everything that was entered is in the tables when this returns. */
  post(): void {
    if (this.#unposted.length === 0) return;
    this.#deps.write((target) => postEntries(target, this.#unposted));
    this.#unposted = [];
    this.#daybook?.clear();
  }

  /** What nobody waits for. */
  tend(): void {
    const { laidAfter } = this.#deps;
    if (this.#daybook?.isHalfFull === true) this.post();
    else if (!this.#tried && laidAfter !== undefined && this.#commits >= laidAfter) this.#lay();
  }

  /** Something was not written, so that numbers are no longer what they should be. What was entered is found in the file. */
  forsake(): void {
    this.#daybook?.close();
    [this.#daybook, this.#unposted, this.#tried] = [undefined, [], true];
  }

  /** Nothing more is entered. What cannot be posted now stays where it is, for whoever opens the store next. */
  close(): void {
    const daybook = this.#daybook;
    this.#daybook = undefined;
    if (daybook === undefined) return;
    try {
      this.post();
      daybook.remove();
    } catch {
      daybook.close();
    }
  }

  /** In use once the store knows of it; and it is only told of one that is there. */
  #lay(): void {
    const { file, write } = this.#deps;
    const epoch = this.#epoch;
    if (epoch === undefined) return;
    this.#tried = true;
    const id = String(epoch);
    const daybook = Daybook.lay(file, id);
    if (daybook === undefined) return;
    let posted: number | undefined;
    try {
      posted = write((target) => (isOwner(target, epoch) ? opened(target, id) : undefined));
    } finally {
      if (posted === undefined) daybook.close();
      else [this.#daybook, this.#serial] = [daybook, posted];
    }
  }
}

const isOwner = ({ write }: Target, epoch: Epoch): boolean => write.holdsEpoch.get(epoch) !== undefined;

/** How far the one before was posted: the next goes on from there. */
function opened(target: Target, id: string): number {
  const posted = readBookmark(target)?.posted ?? 0;
  writeBookmark(target, { book: id, posted });
  return posted;
}

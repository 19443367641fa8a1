/** From the daybook to the tables: each entry once, and in order, many at once. */
import { UserError } from "../../domain/errors.ts";
import { advanceBookmark, type Bookmark, readBookmark, writeBookmark } from "./bookmark.ts";
import { connectBeside } from "./connect.ts";
import { type Entry, entriesAfter, missingIn, takeAway, whatToMove } from "./daybook.ts";
import { isOfLaw, isOfPlace } from "./failure.ts";
import { brokenLog } from "./log-check.ts";
import { merged } from "./merging.ts";
import { REAL } from "./platform.ts";
import type { Source, Target } from "./read.ts";
import type { Sheet } from "./sheet.ts";
import { damaged } from "./sums.ts";
import { targetOn, transactions } from "./target.ts";
import { writeSheet } from "./write.ts";

/**
 * Whether anything was entered that is not in the tables. Asked without keeping anybody from going on meanwhile, so that what is missing says
 * nothing here: it may have been posted since, and written over.
 */
export const hasUnposted = (file: string, source: Pick<Source, "sql">): boolean =>
  found(file, readBookmark(source)).length > 0;

/** Posts what lies in the file. Anybody may, while its owner goes on entering: what is posted already is not posted again. */
export const postFile = (file: string, target: Target): void => postAll(file, target, unpostedIn(file, target));

/** Posts those of them that nobody else has posted: whoever took the daybook away has posted all of it. */
export function postEntries(file: string, target: Target, entries: readonly Entry[]): void {
  const posted = readBookmark(target)?.posted ?? 0;
  postAll(
    file,
    target,
    entries.filter(({ serial }) => serial > posted),
  );
}

/** Nobody enters anything there any more, and what was entered is posted. */
export function closeBook(file: string, target: Target): void {
  takeAway(file);
  postFile(file, target);
  const bookmark = readBookmark(target);
  if (bookmark !== undefined) writeBookmark(target, { ...bookmark, book: null });
}

/** For who only reads: what was answered is to be seen, also where its writer died before it was posted. */
export function postBeside(file: string): void {
  const broken = brokenLog(REAL.files, file);
  if (broken !== undefined) throw damaged(broken);
  const db = connectBeside(file, "full");
  try {
    transactions(db)(() => postFile(file, targetOn(db)), "immediate");
  } catch (error) {
    if (!isOfPlace(error)) throw error;
    const why = `${file}: what was promised last is in its daybook, and cannot be brought into its tables: ${(error as Error).message}`;
    throw new UserError("STATE_UNUSABLE", why, { cause: error });
  } finally {
    db.close();
  }
}

/** Nobody posts meanwhile, so that nothing is written over; but entries may come while we read. What was not there yet is there when we look again. */
function unpostedIn(file: string, target: Target): readonly Entry[] {
  const bookmark = readBookmark(target);
  const first = found(file, bookmark);
  if (missingIn(first, bookmark?.posted ?? 0) === undefined) return first;
  const again = found(file, bookmark);
  const missing = missingIn(again, bookmark?.posted ?? 0);
  if (missing === undefined) return again;
  throw damaged(`entry ${missing} of its daybook is missing or damaged. ${whatToMove(file)}`);
}

const found = (file: string, bookmark: Bookmark | undefined): readonly Entry[] =>
  bookmark === undefined || bookmark.book === null ? [] : entriesAfter(file, bookmark.book, bookmark.posted);

function postAll(file: string, target: Target, entries: readonly Entry[]): void {
  const [first, last] = [entries[0]?.serial, entries.at(-1)?.serial];
  if (first === undefined || last === undefined) return;
  if (entries.length !== last - first + 1 || !isPosted(target, entries))
    throw damaged(
      `what was entered in its daybook from ${first} to ${last} does not fit its tables. ${whatToMove(file)}`,
    );
  advanceBookmark(target, first, last);
}

function isPosted(target: Target, entries: readonly Entry[]): boolean {
  try {
    const sheet = merged(entries.map(({ text }) => sheetFrom(text)));
    return sheet !== undefined && writeSheet(target, sheet);
  } catch (error) {
    if (isOfLaw(error)) return false;
    throw error;
  }
}

/** A sheet as it is entered, and back. */
export const textOf = (sheet: Sheet): string => JSON.stringify({ ...sheet, moved: [...sheet.moved] });
export function sheetFrom(text: string): Sheet {
  const { moved, ...rest } = JSON.parse(text) as Omit<Sheet, "moved"> & { readonly moved: [number, never][] };
  return { ...rest, moved: new Map(moved) };
}

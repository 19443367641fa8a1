/** From the daybook to the tables: each entry once, and in order. */
import { readBookmark } from "./bookmark.ts";
import { type Entry, readEntries } from "./daybook.ts";
import type { Source, Target } from "./read.ts";
import type { Sheet } from "./sheet.ts";
import { damaged } from "./sums.ts";
import { writeSheet } from "./write.ts";

/** What was entered and is not in the tables. */
function unpostedIn(file: string, source: Pick<Source, "sql">): readonly Entry[] {
  const bookmark = readBookmark(source);
  return bookmark === undefined || bookmark.book === null ? [] : readEntries(file, bookmark.book, bookmark.posted);
}

export const hasUnposted = (file: string, source: Pick<Source, "sql">): boolean => unpostedIn(file, source).length > 0;

/** Posts what lies in the file. Anybody may, while its owner goes on entering: what is posted already is not posted again. */
export const postFile = (file: string, target: Target): void => postAll(target, unpostedIn(file, target));

/** Posts those of them that nobody else has posted. */
export function postEntries(target: Target, entries: readonly Entry[]): void {
  const posted = readBookmark(target)?.posted ?? 0;
  postAll(
    target,
    entries.filter(({ serial }) => serial > posted),
  );
}

function postAll(target: Target, entries: readonly Entry[]): void {
  for (const { serial, text } of entries)
    if (!writeSheet(target, sheetFrom(text))) throw damaged(`entry ${serial} of its daybook does not fit its tables`);
}

/** A sheet as it is entered, and back. */
export const textOf = (sheet: Sheet): string => JSON.stringify({ ...sheet, moved: [...sheet.moved] });
export function sheetFrom(text: string): Sheet {
  const { moved, ...rest } = JSON.parse(text) as Omit<Sheet, "moved"> & { readonly moved: [number, never][] };
  return { ...rest, moved: new Map(moved) };
}

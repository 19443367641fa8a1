/**
 * How far the tables have got: which daybook is in use, and the number of the last commit that is in them. With a daybook every commit of the
 * owner has a number, whether it is entered or written at once: if one is lost, what was entered after it no longer fits, and is refused.
 */
import type { Row, Source, Target } from "./read.ts";
import { damaged, sumOf, verify } from "./sums.ts";

export interface Bookmark {
  /** By its name; none where none is in use. */
  readonly book: string | null;
  readonly posted: number;
}

/** Nothing when the file is from before there were daybooks. */
export function readBookmark({ sql }: Pick<Source, "sql">): Bookmark | undefined {
  if (sql.bookmark === undefined) return undefined;
  const row: Row | undefined = sql.bookmark.get();
  if (row === undefined) throw damaged("the record of its daybook is gone");
  const { book, posted, sum } = row as unknown as Bookmark & { readonly sum: number };
  verify(sum, sumOf("daybook", book, posted), () => "the record of its daybook");
  return { book, posted };
}

export function writeBookmark({ write }: Pick<Target, "write">, { book, posted }: Bookmark): void {
  write.writeBookmark.run(book, posted, sumOf("daybook", book, posted));
}

/** The commit of this number is in the tables now, or all of them up to another. */
export function advanceBookmark(target: Pick<Target, "sql" | "write">, first: number, last = first): void {
  const bookmark = readBookmark(target);
  if (bookmark?.posted !== first - 1) throw damaged(`commit ${first} does not follow ${bookmark?.posted}`);
  writeBookmark(target, { ...bookmark, posted: last });
}

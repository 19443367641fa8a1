/** Copies a ledger of one row an event into pages. */

import { UserError } from "../../domain/errors.ts";
import type { LedgerRow } from "../ledger.ts";
import { type Page, Pager } from "./pages.ts";
import type { Database } from "./platform.ts";
import type { Row } from "./read.ts";
import { fromOldRow } from "./read-ledger.ts";
import { sumOf } from "./sums.ts";

/** `summed`: the rows have checksums. An event that is not as it was written stays so, by itself on a page that nobody will believe. */
export function turnPages(db: Database, summed: boolean): void {
  const insert = db.prepare("insert into page (first, last, run, events, sum) values (?, ?, ?, ?, ?)");
  const write = ({ first, last, run, events }: Page, isWhole = true): void => {
    const sum = sumOf("page", first, last, run, events);
    insert.run(first, last, run, events, isWhole ? sum : ~sum);
  };
  const pager = new Pager((page) => write(page));
  for (const row of db.prepare("select * from ledger order by seq").iterate()) {
    const event = readOld(row, summed);
    if (event !== undefined) pager.add(event);
    else {
      pager.end();
      const { seq, run } = row as { seq: number; run: number };
      write({ first: seq, last: seq, run, events: JSON.stringify(row) }, false);
    }
  }
  pager.end();
  db.exec("drop table ledger");
}

function readOld(row: Row, summed: boolean): LedgerRow | undefined {
  try {
    return fromOldRow(row, summed);
  } catch (error) {
    if (error instanceof UserError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

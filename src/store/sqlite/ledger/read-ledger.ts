/** Reads the events back: every page is checked against its checksum, and a missing one is noticed. */
import type { Event } from "../../../domain/event.ts";
import type { Range } from "../../../std/skips.ts";
import { fromLedgerRow, type LedgerRow } from "../../ledger.ts";
import type { EventQuery } from "../../store.ts";
import { type Row, refuseDisorder, type Source } from "../reading/read.ts";
import type { SealReading } from "../statements.ts";
import { findSeal, refuseMissing, sealOf, WHOLE_LEDGER } from "../sums/seals.ts";
import { damaged, sumOf, verify } from "../sums/sums.ts";
import { mayHave, type Page, rowsOn } from "./pages.ts";

export function readEvents(source: Source, query: EventQuery): readonly Event[] {
  const { run, task, limit = Number.POSITIVE_INFINITY } = query;
  const rows = limit > 0 ? gather(source, query, limit) : [];
  refuseDisorder(rows, ({ seq }) => seq, "the events of the ledger");
  if (run === undefined && task === undefined) refuseHoles(source, query, rows, limit);
  else refuseGaps(source.seals, query, rows, limit);
  return rows.map(fromLedgerRow);
}

function gather(source: Source, query: EventQuery, limit: number): readonly LedgerRow[] {
  const { after, last } = rangeOf(source.seals, query);
  const rows: LedgerRow[] = [];
  for (const row of rowsIn(source, { after, last, run: query.run ?? null }, query.task ?? null)) {
    // A page may begin before the positions that are asked for.
    if (row.seq <= after || row.seq > last || (query.task !== undefined && row.task !== query.task)) continue;
    rows.push(row);
    if (rows.length === limit) break;
  }
  return rows;
}

/**
 * Where the events can be. The seal of a run has the positions of its first and last event, so nothing before or behind them is
 * read; an index would say more, but would make each commit at least a tenth slower.
 */
function rangeOf(
  seals: SealReading,
  { run, after = 0 }: EventQuery,
): { readonly after: number; readonly last: number } {
  const seal = run !== undefined ? findSeal(seals, run) : undefined;
  if (seal === undefined) return { after, last: Number.MAX_SAFE_INTEGER };
  return { after: Math.max(after, seal.first - 1), last: seal.last };
}

type Between = Readonly<Record<"after" | "last", number>> & { readonly run: number | null };

/** At least the events of the task, where the query names one. */
function* rowsIn({ sql }: Source, between: Between, task: number | null): Generator<LedgerRow> {
  for (const row of sql.pages.iterate(between)) {
    // Pages that are skipped, too: the changed byte may be in the number of the run that the page belongs to.
    verifyPage(row);
    const page = row as unknown as Page;
    if (task === null || mayHave(page, task)) yield* rowsOn(page);
  }
}

function verifyPage(row: Row): void {
  const { first, last, run, events, sum } = row as unknown as Page & { readonly sum: number };
  verify(sum, sumOf("page", first, last, run, events), () => `the page of the ledger from event ${first} on`);
}

/** The positions of all events have no gaps, apart from forgotten ones. */
function refuseHoles(source: Source, { after = 0 }: EventQuery, rows: readonly LedgerRow[], limit: number): void {
  let last = after;
  for (const { seq } of rows) {
    if (seq !== last + 1 && !isForgotten(source, last + 1, seq - 1))
      throw damaged(`event ${last + 1} of the ledger is missing`);
    last = seq;
  }
  if (rows.length < limit) refuseOtherEnd(source, last, rows.length > 0);
}

/** The ledger ends at this position, apart from forgotten events behind it. Gives the last position that was written. */
function refuseOtherEnd(source: Source, position: number, isThere: boolean): number {
  const { last } = sealOf(source.seals, WHOLE_LEDGER);
  const isShort = last > position && !isForgotten(source, position + 1, last);
  if (isShort || (isThere && position > last))
    throw damaged(`the last event of the ledger is ${position}, where ${last} was written`);
  return last;
}

/** Ranges do not touch each other, so all these positions are in one range. */
function isForgotten({ sql }: Source, first: number, last: number): boolean {
  const row = sql.forgottenAt.get(first);
  return row !== undefined && toRange(row).last >= last;
}

export function readForgotten({ sql, seals }: Source): readonly Range[] {
  refuseMissing(seals, "forgotten");
  return sql.forgotten.all().map(toRange);
}

export function toRange(row: Row): Range {
  const { first, last, sum } = row as { first: number; last: number; sum: number };
  verify(sum, sumOf("forgotten", first, last), () => `what was forgotten from event ${first} on`);
  return { first, last };
}

/** The events of one task are numbered without gaps. */
function refuseGaps(
  seals: SealReading,
  { run, task, after = 0 }: EventQuery,
  rows: readonly LedgerRow[],
  limit: number,
): void {
  if (run !== undefined && task !== undefined) {
    for (const [index, { version }] of rows.entries())
      if (index > 0 && version !== (rows[index - 1]?.version ?? 0) + 1)
        throw damaged(`an event of run ${run}, before its change ${version} of task ${task}, is missing`);
  }
  const seal = task === undefined && run !== undefined && rows.length < limit ? findSeal(seals, run) : undefined;
  if (seal === undefined) return;
  const { last } = seal;
  const found = rows.at(-1)?.seq ?? 0;
  if (last > after && found !== last)
    throw damaged(`the last event of the ledger is ${found}, where ${last} was written`);
}

export function readLastSeq(source: Source): number {
  const { seq } = source.sql.lastSeq.get() as { seq: number };
  return refuseOtherEnd(source, seq, true);
}

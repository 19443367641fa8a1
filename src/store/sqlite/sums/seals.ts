/** The figures that the rows of each run, and of the ledger as a whole, must add up to: a missing or older row does not. */

import { isRecorded } from "../../../domain/event.ts";
import type { Batch } from "../../store.ts";
import type { Statement } from "../platform.ts";
import type { SealReading, Writing } from "../statements.ts";
import { damaged, sumOf, verify } from "./sums.ts";

/** The run under which the seal of the whole ledger stands. */
export const WHOLE_LEDGER = 0;

/** Tables that are sealed as a whole, by the total of their sums, under numbers that no run has. */
export const COUNTED = {
  session: -1,
  pause: -2,
  request: -3,
  answer: -4,
  duration: -5,
  estimate_error: -6,
  forgotten: -7,
  done_key: -8,
} as const;
export type Counted = keyof typeof COUNTED;

export interface Seal {
  readonly run: number;
  /** The first and the last position in the ledger. */
  readonly first: number;
  readonly last: number;
  /** The versions of all task rows together; for a table that is sealed as a whole, the total of its sums. */
  readonly versions: number;
}

const sealSum = ({ run, first, last, versions }: Seal): number => sumOf("seal", run, first, last, versions);

export function sealOf(sql: SealReading, run: number): Seal {
  const seal = findSeal(sql, run);
  if (seal !== undefined) return seal;
  if (run <= WHOLE_LEDGER) return { run, first: 0, last: 0, versions: 0 };
  throw damaged(`the seal of run ${run} is gone`);
}

/** Nothing when the run has no seal. */
export function findSeal(sql: SealReading, run: number): Seal | undefined {
  const row = sql.readSeal.get(run) as (Seal & { readonly sum: number }) | undefined;
  if (row === undefined) return undefined;
  verify(row.sum, sealSum(row), () => `the seal of run ${run}`);
  return row;
}

/** Rows of these tables come and go. A missing row has no sum that could be wrong, so the total of the sums is kept. */
const totalOf = (sql: SealReading, table: Counted): number => (sql[table].get() as { total: number }).total;

export function refuseMissing(sql: SealReading, table: Counted): void {
  if (totalOf(sql, table) !== sealOf(sql, COUNTED[table]).versions) throw damaged(`the table ${table} is not whole`);
}

/** Moves the seal of a table by the change of its total: the table may be long, and is not added up again for one row. */
export function sealTable(reading: SealReading, writing: Writing, table: Counted, change: number): void {
  if (change === 0) return;
  const run = COUNTED[table];
  const versions = sealOf(reading, run).versions + change;
  writing.writeSeal.run(run, 0, 0, versions, sealSum({ run, first: 0, last: 0, versions }));
}

/** The sum of one row as it is now; zero where there is no row. */
export const sumIn = (statement: Statement, key: string | number): number =>
  (statement.get(key) as { readonly sum: number } | undefined)?.sum ?? 0;

/** By how much a batch moves a seal. */
export interface Moved {
  first: number;
  last: number;
  versions: number;
}

/** Updates the seals of the runs that a batch touches: one row for each run, however many tasks. */
export function advanceSeals(reading: SealReading, writing: Writing, moved: ReadonlyMap<number, Moved>): void {
  for (const [run, { first, last, versions }] of moved) {
    const seal = findSeal(reading, run);
    const next: Seal = {
      run,
      first: seal?.first ?? first,
      last: last === 0 ? (seal?.last ?? 0) : last,
      versions: (seal?.versions ?? 0) + versions,
    };
    writing.writeSeal.run(run, next.first, next.last, next.versions, sealSum(next));
  }
}

export function movesIn(tasks: Batch["tasks"], events: Batch["events"]): ReadonlyMap<number, Moved> {
  const moved = new Map<number, Moved>();
  const ofRun = (run: number): Moved => {
    const found = moved.get(run);
    if (found !== undefined) return found;
    const fresh = { first: 0, last: 0, versions: 0 };
    moved.set(run, fresh);
    return fresh;
  };
  for (const { row, replaces } of tasks) {
    // The ledger has no event for a renewed lease.
    if (row.version !== replaces) ofRun(row.run).versions += row.version - replaces;
  }
  let last = 0;
  for (const event of events) {
    if (!isRecorded(event)) continue;
    last = event.seq;
    const run = ofRun(event.run);
    run.last = last;
    if (run.first === 0) run.first = last;
  }
  if (last > 0) ofRun(WHOLE_LEDGER).last = last;
  return moved;
}

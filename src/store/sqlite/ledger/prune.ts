/** Forgets runs that ended: their rows, and their events in the ledger. The forgotten positions are kept, as few ranges. */

import type { RunNo } from "../../../domain/run.ts";
import type { Pause } from "../../../domain/waiting/pause.ts";
import { joined, type Range } from "../../../std/skips.ts";
import type { RunRow } from "../../rows.ts";
import type { Request } from "../../store.ts";
import { type Target, toRunRow } from "../reading/read.ts";
import type { Forgetting } from "../statements.ts";
import { writePause } from "../sums/registers.ts";
import { sealOf, sealTable } from "../sums/seals.ts";
import { sumOf } from "../sums/sums.ts";
import { deleteRequest } from "../writing/write.ts";
import { toRange } from "./read-ledger.ts";

/** Gives the runs that were forgotten. The others have not ended, or are still needed. */
export function pruneRuns(target: Target, sql: Forgetting, wanted: readonly RunNo[]): readonly RunNo[] {
  const rows = sql.forgettable.all({ runs: JSON.stringify(wanted) }).map(toRunRow);
  if (rows.length === 0) return [];
  const gone = rows.map(({ no }) => no);
  const runs = JSON.stringify(gone);
  forgetEvents(target, sql, gone);
  for (const each of [sql.deleteTasks, sql.deleteSpecs, sql.deleteSeals, sql.deleteRuns]) each.run({ runs });
  forgetWishes(target, rows);
  return gone;
}

function forgetEvents(target: Target, sql: Forgetting, gone: readonly RunNo[]): void {
  const seals = gone.map((no) => sealOf(target.seals, no));
  const [first, last] = [least(seals.map((seal) => seal.first)), most(seals.map((seal) => seal.last))];
  const where = { runs: JSON.stringify(gone), first, last };
  const ranges = [...joined(sql.positions.iterate(where) as Iterable<unknown> as Iterable<Range>)];
  sql.deletePages.run(where);
  let change = 0;
  for (const range of ranges) change += addRange(target, sql, range);
  sealTable(target.seals, target.write, "forgotten", change);
}

const least = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.min(a, b));
const most = (numbers: readonly number[]): number => numbers.reduce((a, b) => Math.max(a, b));

/** Adds the range, merged with its neighbours: the positions between two ranges exist. Gives by how much the total of the table changes. */
function addRange({ sql: reading }: Target, sql: Forgetting, range: Range): number {
  let { first, last } = range;
  let change = 0;
  const take = (row: Record<string, unknown> | undefined, touches: (other: Range) => boolean): void => {
    const other = row && toRange(row);
    if (other === undefined || !touches(other)) return;
    [first, last] = [Math.min(first, other.first), Math.max(last, other.last)];
    sql.deleteRange.run(other.first);
    change -= sumOf("forgotten", other.first, other.last);
  };
  take(reading.forgottenAt.get(range.first), (other) => other.last === range.first - 1);
  take(reading.forgottenAt.get(range.last + 1), (other) => other.first === range.last + 1);
  const sum = sumOf("forgotten", first, last);
  sql.addRange.run(first, last, sum);
  return change + sum;
}

/** Removes their pauses, and requests that came too late to be handled. */
function forgetWishes(target: Target, gone: readonly RunRow[]): void {
  const { sql, seals, write } = target;
  const [numbers, ids] = [new Set(gone.map(({ no }) => no)), new Set(gone.map(({ manifest }) => manifest.id))];
  for (const row of sql.allRequests.all()) {
    const { run } = JSON.parse(row["body"] as string) as Request;
    if (ids.has(run)) deleteRequest(target, row["no"] as number);
  }
  for (const row of sql.allPauses.all()) {
    const { scope } = JSON.parse(row["body"] as string) as Pause;
    if ("run" in scope && numbers.has(scope.run))
      sealTable(seals, write, "pause", writePause(write, row["scope"] as string, undefined));
  }
}

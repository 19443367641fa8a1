import fc from "fast-check";
import { expect, test } from "vitest";
import { success, task } from "../../../../test/rig/builders.ts";
import { claimed, FIRST, LedgerFixture, NOW, started } from "../../../../test/rig/ledger-fixture.ts";
import { always } from "../../../../test/rig/property.ts";
import { runId } from "../../../domain/ids.ts";
import { runNo } from "../../../domain/run.ts";
import { acquired } from "../../conformance.ts";
import { fromLedgerRow, type LedgerRow } from "../../ledger.ts";
import { openSqliteStore } from "../store.ts";
import { PAGE_MAX, type Page, Pager, rowsOn } from "./pages.ts";

const done = { kind: "succeeded", outcome: success } as const;

function pagesOf(rows: readonly LedgerRow[]): readonly Page[] {
  const pages: Page[] = [];
  const pager = new Pager((page) => pages.push(page));
  for (const row of rows) pager.add(fromLedgerRow(row));
  pager.end();
  return pages;
}

/** Positions only grow, and are left out now and then; runs take turns. */
const ledger = fc
  .array(
    fc.record({
      step: fc.constantFrom(1, 1, 1, 1, 5),
      run: fc.constantFrom(0, 1, 1, 1, 2),
      task: fc.option(fc.nat(9)),
      data: fc.option(fc.record({ note: fc.jsonValue() })),
      times: fc.constantFrom(1, 1, 2, 70, 200),
    }),
    { maxLength: 20 },
  )
  .map((parts) => {
    let seq = 0;
    return parts.flatMap(({ step, run, task, data, times }) => {
      seq += step - 1;
      return Array.from({ length: times }, (): LedgerRow => {
        const place = { task, version: task === null ? null : 3, attempt: task === null ? null : 2 };
        return { seq: ++seq, at: 1.7e12 + seq, run, kind: "noted", ...place, data };
      });
    });
  });

test("what is put on pages is on them, in order, and no page is longer than it may be or of two runs", () =>
  always(
    300,
    fc.property(ledger, (rows) => {
      const pages = pagesOf(rows);
      expect(pages.flatMap(rowsOn)).toEqual(JSON.parse(JSON.stringify(rows)));
      for (const { first, last } of pages) expect(last - first).toBeLessThan(PAGE_MAX);
      // No more pages than necessary.
      const joints = pages.slice(1).map((page, at) => [pages[at] as Page, page] as const);
      for (const [a, b] of joints)
        expect(a.run !== b.run || a.last + 1 !== b.first || a.last - a.first + 1 === PAGE_MAX).toBe(true);
    }),
  ));

test("a page that lost an event is not believed, whatever its checksum says", () => {
  expect(() => rowsOn({ first: 1, last: 2, run: 1, events: '[[1,"run_stalled",null]]' })).toThrow(/is not whole/);
});

test("from any position on, of any run or task, and as many as are asked for: it is as if all were looked through", async () => {
  await using store = openSqliteStore(":memory:");
  const epoch = await acquired(store);
  const fixture = new LedgerFixture();
  const wide = fixture.submit(Array.from({ length: 150 }, (_, at) => task(`t${at}`)));
  for (let at = 0; at < 150; at++) fixture.write(wide, at, claimed, started);
  const other = fixture.submit([task("a")], { id: runId("run-2") }, runNo(2));
  fixture.write(wide, 0, done).write(other, 0, claimed).write(wide, 1, done);
  await store.commit(fixture.pending.take(epoch));
  fixture.pending.ofRun(FIRST, { kind: "run_stalled", remaining: 1, outcome: "waiting" }, NOW);
  await store.commit(fixture.pending.take(epoch));
  const all = await store.events({});
  expect(all.length).toBeGreaterThan(2 * PAGE_MAX);
  for (const after of [0, 1, PAGE_MAX - 1, PAGE_MAX, PAGE_MAX + 1, 300, all.length - 1, all.length])
    for (const limit of [0, 1, PAGE_MAX, 1_000])
      for (const run of [undefined, FIRST, runNo(2)])
        for (const no of [undefined, 1]) {
          const wanted = all.filter(
            (event) =>
              event.seq > after &&
              (run === undefined || event.run === run) &&
              (no === undefined || ("task" in event && event.task === no)),
          );
          const query = { after, limit, ...(run && { run }), ...(no !== undefined && { task: no as never }) };
          expect(await store.events(query), JSON.stringify(query)).toEqual(wanted.slice(0, limit));
        }
});

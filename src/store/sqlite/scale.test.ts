/** What must not grow with the size of the store: which rows are looked at, and how many statements it takes. */
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { expect, test } from "vitest";
import { success, task, no as taskNo } from "../../../test/rig/builders.ts";
import { claimed, FIRST, LedgerFixture, NOW, started } from "../../../test/rig/ledger-fixture.ts";
import { profile } from "../../../test/rig/sessions.ts";
import { runId, workerId } from "../../domain/ids.ts";
import { runNo } from "../../domain/run.ts";
import { type EventQuery, NOTHING } from "../store.ts";
import { mayHave, PAGE_MAX, type Page } from "./ledger/pages.ts";
import { readEvents } from "./ledger/read-ledger.ts";
import { migrate } from "./migrate.ts";
import type { Statement } from "./platform.ts";
import type { Target } from "./reading/read.ts";
import { audit } from "./sums/audit.ts";
import { sheetOf } from "./writing/sheet.ts";
import { targetOn } from "./writing/target.ts";
import { writeSheet } from "./writing/write.ts";

interface Opened {
  readonly db: DatabaseSync;
  readonly target: Target;
}

function opened(): Opened {
  const db = new DatabaseSync(":memory:");
  migrate(db, ":memory:");
  return { db, target: targetOn(db) };
}

/** This many runs of one task each, one after the other. The store has no owner, so the epoch is the first. */
function withRuns(count: number): Opened {
  const all = opened();
  const fixture = new LedgerFixture();
  for (let no = 1; no <= count; no++) {
    const run = fixture.submit([task("a")], { id: runId(`plan-${no}`) }, runNo(no));
    fixture.write(run, 0, claimed, { kind: "succeeded", outcome: success });
    fixture.pending.ofRun(runNo(no), { kind: "run_finished", outcome: "succeeded" }, NOW);
  }
  expect(writeSheet(all.target, sheetOf(fixture.pending.take(0)))).toBe(true);
  return all;
}

/** SQLite's own description of how it runs the statement. */
const planOf = (db: DatabaseSync, statement: Statement): string =>
  db
    .prepare(`explain query plan ${(statement as StatementSync).sourceSQL}`)
    .all()
    .map(({ detail }) => String(detail))
    .join("; ");

/** How many pages of the ledger the statement gives. */
function looksAt({ target }: Opened, query: EventQuery): number {
  let rows = 0;
  const pages = {
    *iterate(given: object) {
      for (const page of target.sql.pages.iterate(given as never)) {
        rows++;
        yield page;
      }
    },
  };
  readEvents({ ...target, sql: { ...target.sql, pages: pages as unknown as StatementSync } }, query);
  return rows;
}

test("for the events of one run only what lies between its first and its last is looked at", () => {
  const all = withRuns(50);
  expect(planOf(all.db, all.target.sql.pages)).toMatch(
    /SEARCH page USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\)/,
  );
  expect(looksAt(all, { run: FIRST })).toBe(1);
  expect(looksAt(all, { run: runNo(25) })).toBe(1);
  expect(looksAt(all, { run: FIRST, after: 4 })).toBe(0);
});

test("for the events of one task few pages are read, and a changed page does not hide any", () => {
  const { db, target } = opened();
  const fixture = new LedgerFixture();
  const run = fixture.submit(Array.from({ length: 1_000 }, (_, at) => task(`t${at}`)));
  for (let at = 0; at < 1_000; at++) fixture.write(run, at, claimed);
  for (let at = 0; at < 1_000; at++) fixture.write(run, at, started);
  expect(writeSheet(target, sheetOf(fixture.pending.take(0)))).toBe(true);
  const of700 = { run: FIRST, task: taskNo(700) };
  expect(readEvents(target, of700).map(({ kind }) => kind)).toEqual(["claimed", "started"]);
  const pages = target.sql.pages.all({ after: 0, last: 9_999, run: null }) as unknown as readonly Page[];
  expect(pages).toHaveLength(Math.ceil(2_001 / PAGE_MAX));
  expect(pages.filter((page) => mayHave(page, 700))).toHaveLength(2);
  db.exec("update page set events = replace(events, ',700,2,1]', ',701,2,1]')");
  expect(() => readEvents(target, of700)).toThrow(/is not what was written/);
});

test("a seal that was changed does not hide events", () => {
  const { db, target } = withRuns(2);
  db.exec("update seal set last = 2 where run = 1");
  expect(() => readEvents(target, { run: FIRST, task: 0 as never })).toThrow(/seal of run 1 is not what was written/);
});

test("runs are found by the start of their id, and by how new they are, without looking through all of them", () => {
  const { db, target } = withRuns(2);
  expect(planOf(db, target.sql.runsBeginning)).toMatch(/SEARCH run USING INDEX \w+ \(id>\? AND id<\?\)/);
  expect(planOf(db, target.sql.newestRuns)).toMatch(/SEARCH run USING INTEGER PRIMARY KEY \(rowid<\?\)/);
  expect(planOf(db, target.sql.unfinishedRuns)).toMatch(/SCAN run USING INDEX run_unfinished/);
});

test("what changes in a table is added to its seal: the table is not added up again", () => {
  const { db, target } = opened();
  const never = { get: () => expect.unreachable("the whole table is added up") } as unknown as StatementSync;
  const seals = {
    ...target.seals,
    session: never,
    pause: never,
    request: never,
    duration: never,
    estimate_error: never,
  };
  const fixture = new LedgerFixture();
  const { pending } = fixture;
  const run = fixture.submit([task("a")]);
  const write = (): void => {
    expect(writeSheet({ ...target, seals }, sheetOf(pending.take(0)))).toBe(true);
    expect([...audit(db)]).toEqual([]);
  };
  for (const id of ["a", "b"]) pending.ofSystem({ kind: "session_joined", profile: profile(id) }, NOW);
  pending.ofSystem({ kind: "paused", scope: { of: "scheduler" }, asked: { by: "mo" } }, NOW);
  pending.learn(run.manifest.name, [{ task: "a", logMs: 3, errorSquared: 0.5 }]);
  write();
  pending.ofSystem({ kind: "session_changed", session: workerId("a"), state: "busy", losses: 1 }, NOW);
  pending.ofSystem({ kind: "session_left", session: workerId("b"), why: "enough" }, NOW);
  pending.ofSystem({ kind: "resumed", scope: { of: "scheduler" }, asked: { by: "mo" } }, NOW);
  pending.learn(run.manifest.name, [{ task: "a", logMs: 4, errorSquared: 0.25 }]);
  write();
  // There is no such session to take away.
  const gone = [{ id: workerId("x"), session: undefined }];
  writeSheet({ ...target, seals }, sheetOf({ ...NOTHING, epoch: 0, requestsDone: [7], sessions: gone }));
  expect([...audit(db)]).toEqual([]);
});

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { always } from "../../../test/rig/property.ts";
import { asked, claimed, NOW, Scribe, started } from "../../../test/rig/scribe.ts";
import { profile } from "../../../test/rig/sessions.ts";
import type { TaskNews } from "../../domain/event.ts";
import { runId, workerId } from "../../domain/ids.ts";
import { type Run, runNo } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import { millis } from "../../domain/time.ts";
import { acquired } from "../conformance.ts";
import type { Batch } from "../store.ts";
import { merged } from "./merging.ts";
import { PAGE_MAX } from "./pages.ts";
import { type Sheet, sheetOf } from "./sheet.ts";
import { openSqliteStore } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "rota-merging-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;

/** Of the ledger it is the events that count, and not which page they stand on; which daybook was used, and how much of it, is no matter either. */
const TABLES = [
  "run",
  "task_spec",
  "task",
  "seal",
  "session",
  "pause",
  "answer",
  "duration",
  "estimate_error",
  "request",
];

/** Everything that is in the tables after these batches, entered in a daybook and posted at once, or written one by one. */
async function tablesAfter(batches: readonly ((epoch: number) => Batch)[], how: "entered" | "written") {
  const file = join(root, `${++files}.db`);
  await using store = openSqliteStore(file, { daybookAfter: how === "entered" ? 0 : Number.POSITIVE_INFINITY });
  const epoch = await acquired(store);
  for (const batch of batches) expect(await store.commit(batch(epoch))).toMatchObject({ ok: true });
  const events = await store.events({ after: 0 });
  expect(await store.check()).toEqual([]);
  const db = new DatabaseSync(file, { readOnly: true });
  const tables = TABLES.map((name) => [name, db.prepare(`select * from ${name} order by 1, 2`).all()]);
  const pages = Number(db.prepare("select count(*) as pages from page").get()?.["pages"]);
  db.close();
  return { tables, events, pages };
}

const ENDS: readonly TaskNews[] = [
  { kind: "succeeded", outcome: { kind: "success", durationMs: millis(3) } },
  { kind: "released", why: "the scheduler was restarted" },
  { kind: "expired", worker: workerId("w1"), notBefore: NOW },
  { kind: "lease_renewed", deadline: NOW },
];

/** What may come next for a task, if anything. */
function nextOf({ status }: Task, choice: number): TaskNews | undefined {
  if (status.state === "ready") return claimed;
  if (status.state === "claimed" && choice % 2 === 0) return started;
  return status.state === "claimed" || status.state === "running" ? ENDS[choice % ENDS.length] : undefined;
}

/** Choices that are not about the task. */
const [JOINS, HOLDS] = [6, 7];

interface Step {
  readonly run: number;
  readonly task: number;
  readonly choice: number;
  /** Whether a batch ends here. */
  readonly ends: boolean;
}

/** Two runs, the second of which comes later, with sessions and pauses besides, in batches that end anywhere. */
function batchesOf(steps: readonly Step[]): readonly ((epoch: number) => Batch)[] {
  const scribe = new Scribe();
  const runs: Run[] = [scribe.submit([task("a"), task("b"), task("c")])];
  const batches: Batch[] = [];
  const scope = { of: "pool", pool: "p" } as const;
  for (const { run, task: no, choice, ends } of steps) {
    if (run === 1 && runs.length === 1)
      runs.push(scribe.submit([task("a"), task("b")], { id: runId("two") }, runNo(2)));
    const of = runs[run % runs.length] as Run;
    const [which, { journal }] = [of.tasks[no % of.tasks.length] as Task, scribe];
    const news = nextOf(which, choice);
    if (choice === JOINS) journal.ofSystem({ kind: "session_joined", profile: profile(`s${no}`) }, NOW);
    else if (choice === HOLDS) journal.ofSystem({ kind: no === 0 ? "resumed" : "paused", scope, asked }, NOW);
    else if (news !== undefined) scribe.write(of, which.no, news);
    if (ends) batches.push(structuredClone(journal.take(0)));
  }
  batches.push(structuredClone(scribe.journal.take(0)));
  return batches.map((batch) => (epoch) => ({ ...batch, epoch }));
}

const step = fc.record({ run: fc.nat(1), task: fc.nat(2), choice: fc.nat(HOLDS), ends: fc.boolean() });

describe("what was entered bit by bit", () => {
  test("is in the tables as if it had been written bit by bit", () =>
    always(
      40,
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const batches = batchesOf(steps);
        const [posted, written] = [await tablesAfter(batches, "entered"), await tablesAfter(batches, "written")];
        expect(posted.events).toEqual(written.events);
        expect(posted.tables).toEqual(written.tables);
        expect(posted.pages).toBeLessThanOrEqual(written.pages);
      }),
    ));

  /** One run of many tasks, of which each batch claims one. */
  function claims(count: number): readonly Sheet[] {
    const scribe = new Scribe();
    const run = scribe.submit(Array.from({ length: count }, (_, no) => task(`t${no}`)));
    return Array.from({ length: count }, (_, no) => sheetOf(scribe.write(run, no, claimed).journal.take(1)));
  }

  test("fills the pages of the ledger, and none too full", () => {
    const pages = merged(claims(PAGE_MAX * 2 + 10))?.rows.pages as readonly (number | string)[];
    const spans = Array.from({ length: pages.length / 4 }, (_, no) => [pages[no * 4], pages[no * 4 + 1]]);
    // The first event is that of the run itself.
    expect(spans).toEqual([
      [1, PAGE_MAX],
      [PAGE_MAX + 1, 2 * PAGE_MAX],
      [2 * PAGE_MAX + 1, 2 * PAGE_MAX + 11],
    ]);
    for (const [no, [first, last]] of spans.entries())
      expect(JSON.parse(pages[no * 4 + 3] as string)).toHaveLength((last as number) - (first as number) + 1);
  });

  test("is not put together where something between is missing, or of another owner", () => {
    const scribe = new Scribe();
    const run = scribe.submit([task("a")]);
    const sheets = [claimed, started, ENDS[0] as TaskNews].map((news) =>
      sheetOf(scribe.write(run, 0, news).journal.take(1)),
    );
    const [first, second, third] = sheets as [Sheet, Sheet, Sheet];
    expect(merged([first, third])).toBeUndefined();
    expect(merged([first, { ...second, epoch: 2 }])).toBeUndefined();
    expect(merged([])).toBeUndefined();
    expect(merged(sheets)?.rows).toMatchObject({ changedTasks: [], freshTasks: expect.arrayContaining(["succeeded"]) });
  });
});

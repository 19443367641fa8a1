import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { asOfSchema } from "../../../test/rig/old-schema.ts";
import { asked, everyState, FIRST, NOW, Scribe } from "../../../test/rig/scribe.ts";
import { profile } from "../../../test/rig/sessions.ts";
import { runId } from "../../domain/ids.ts";
import { type Run, runNo } from "../../domain/run.ts";
import { acquired } from "../conformance.ts";
import { replayAll } from "../replay.ts";
import { NOTHING, type Store } from "../store.ts";
import { openSqliteStore } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "rota-migrate-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;

/** A file as the first version left it, or a later one, with a task in every state; and what a reader of today reads of the same. */
async function oldFile(schema = 1): Promise<{ readonly file: string; readonly seen: readonly unknown[] }> {
  const [now, file] = [join(root, `now-${++files}.db`), join(root, `old-${files}.db`)];
  await using store = openSqliteStore(now);
  await store.commit(everyState(await acquired(store)).batch);
  await store.request({ kind: "cancel", run: "run-1" as never, by: "mo", at: NOW });
  asOfSchema(now, file, schema);
  return { file, seen: await everything(store) };
}

const everything = async (store: Store): Promise<readonly unknown[]> => [
  await store.runs(),
  await store.load(FIRST),
  await store.events({}),
  await store.lastSeq(),
  await store.requests(),
  await store.sessions(),
  await store.pauses(),
  await store.recall("k"),
];

const versionOf = (file: string): unknown => {
  using db = new DatabaseSync(file, { readOnly: true });
  return db.prepare("pragma user_version").get()?.["user_version"];
};

describe("a file from before there were sessions", () => {
  test("is read as it is by who only reads: nobody is there, and nothing is on hold", async () => {
    const { file, seen } = await oldFile();
    await using store = openSqliteStore(file, { readOnly: true });
    expect(await everything(store)).toEqual(seen);
    expect(await replayAll(store)).toEqual([]);
    expect(versionOf(file)).toBe(1);
  });

  test("is brought up to date by who writes, and nothing of it is lost", async () => {
    const { file, seen } = await oldFile();
    await using store = openSqliteStore(file);
    expect(await everything(store)).toEqual(seen);
    const epoch = await acquired(store);
    const { journal, world } = new Scribe();
    world.seq = await store.lastSeq();
    journal.ofSystem({ kind: "session_joined", profile: profile("a") }, NOW);
    journal.ofSystem({ kind: "paused", scope: { of: "scheduler" }, asked: { by: "mo" } }, NOW);
    expect(await store.commit(journal.take(epoch))).toMatchObject({ ok: true });
    await store.commit({ ...NOTHING, epoch, answers: [{ key: "k", at: NOW, answer: { run: FIRST } }] });
    await using again = openSqliteStore(file, { readOnly: true });
    expect([await again.sessions(), await again.pauses(), await again.recall("k")]).toMatchObject([[{}], [{}], {}]);
    expect(await replayAll(again)).toEqual([]);
  });

  test("is brought up to date once, however many come", async () => {
    const { file, seen } = await oldFile();
    await using first = openSqliteStore(file);
    await using second = openSqliteStore(file);
    expect([await first.secret("one"), await second.secret("two")]).toEqual(["one", "one"]);
    expect(await everything(second)).toEqual(seen);
  });
});

describe("a file from before runs could be forgotten", () => {
  test("is read as it is by who only reads, and nothing in it is wrong", async () => {
    const { file, seen } = await oldFile(3);
    await using store = openSqliteStore(file, { readOnly: true });
    expect(await everything(store)).toEqual(seen);
    expect([await store.forgotten(), await store.check(), await replayAll(store)]).toEqual([[], [], []]);
    expect(versionOf(file)).toBe(3);
  });

  test("is brought up to date by who writes, and runs of it can be forgotten", async () => {
    const { file, seen } = await oldFile(3);
    await using store = openSqliteStore(file);
    expect(await everything(store)).toEqual(seen);
    const epoch = await acquired(store);
    const scribe = new Scribe();
    scribe.world.seq = await store.lastSeq();
    for (const no of [2, 3]) scribe.submit([task("a")], { id: runId(`run-${no}`) }, runNo(no));
    scribe.write(scribe.world.run(runNo(2)) as Run, 0, { kind: "cancelled", asked });
    scribe.journal.ofRun(runNo(2), { kind: "run_finished", outcome: "cancelled" }, NOW);
    await store.commit(scribe.journal.take(epoch));
    expect(await store.prune([runNo(2)], () => false)).toEqual({ ok: true, value: [2] });
    expect([await store.check(), await replayAll(store)]).toEqual([[], []]);
  });
});

describe("a file from before the ledger had pages", () => {
  test("is read as it is by who only reads, and brought up to date by who writes", async () => {
    const { file, seen } = await oldFile(5);
    {
      await using reader = openSqliteStore(file, { readOnly: true });
      expect(await everything(reader)).toEqual(seen);
      expect([await reader.check(), await replayAll(reader), versionOf(file)]).toEqual([[], [], 5]);
    }
    await using store = openSqliteStore(file);
    expect(await everything(store)).toEqual(seen);
    expect([await store.check(), await replayAll(store)]).toEqual([[], []]);
    expect(await store.events({ after: 3, limit: 4 })).toEqual((seen[2] as readonly unknown[]).slice(3, 7));
  });

  test.each([
    ["another kind", "update ledger set kind = 'parked' where seq = 5"],
    ["what is no JSON", "update ledger set data = '{' where seq = 5"],
  ])(
    "with an event that has %s has it still when it is brought up to date, and all others as they were",
    async (_, change) => {
      const { file, seen } = await oldFile(5);
      {
        using db = new DatabaseSync(file);
        db.exec(change);
      }
      await using store = openSqliteStore(file);
      const events = seen[2] as readonly unknown[];
      expect(await store.events({ limit: 4 })).toEqual(events.slice(0, 4));
      expect(await store.events({ after: 5 })).toEqual(events.slice(5));
      await expect(store.events({})).rejects.toMatchObject({ code: "STORE_CORRUPT" });
      expect(await store.check()).toEqual(["page 5 is not what was written"]);
    },
  );
});

test.each([1, 3, 4, 5])(
  "what schema %i let nobody write, nobody can write when it is brought up to date",
  async (schema) => {
    const { file, seen } = await oldFile(schema);
    await using store = openSqliteStore(file);
    expect(await everything(store)).toEqual(seen);
    expect([await store.check(), await replayAll(store)]).toEqual([[], []]);
    using db = new DatabaseSync(file);
    const refused = [
      "update run set state = 'going'",
      "update run set state = 'finished', outcome = 'lost', ended_at = 1",
      "update run set cancelling = 2",
      "update run set state = 'finished', ended_at = 1",
      "insert into session (id, profile, state, joined_at, seen_at, losses) values ('a', '{}', 'asleep', 1, 1, 0)",
    ];
    for (const sql of refused) expect(() => db.exec(sql), sql).toThrow("CHECK constraint failed");
  },
);

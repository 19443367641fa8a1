import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Worker } from "node:worker_threads";
import { afterAll, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { claimed, LedgerFixture, started } from "../../../test/rig/ledger-fixture.ts";
import { ALWAYS } from "../../../test/rig/stores.ts";
import { runId } from "../../domain/ids.ts";
import { runNo } from "../../domain/run.ts";
import { acquired } from "../conformance.ts";
import { openSqliteStore } from "./store.ts";
import { type FromWriter, Writer } from "./writer.ts";

const root = mkdtempSync(join(tmpdir(), "rota-writer-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(root, `${++files}.db`);

const LARGE = 100;
const tasks = Array.from({ length: LARGE }, (_, at) => task(`t${at}`));

test("a large batch is written by the thread and a small one after it, in the order in which they were given", async () => {
  await using store = openSqliteStore(newFile(), { aside: { from: LARGE, atOnce: LARGE, after: 0 } });
  const epoch = await acquired(store);
  const fixture = new LedgerFixture();
  const run = fixture.submit(tasks);
  let ended = false;
  const large = store.commit(fixture.pending.take(epoch)).then((result) => {
    ended = true;
    return result;
  });
  // The thread writes while this one does something else.
  await Promise.resolve();
  expect(ended).toBe(false);
  fixture.write(run, 0, claimed, started);
  const small = store.commit(fixture.pending.take(epoch));
  const request = store.request({ kind: "cancel", run: run.manifest.id, by: "mo", at: run.manifest.submittedAt });
  expect(await Promise.all([large, small])).toMatchObject([{ ok: true }, { ok: true }]);
  expect(await request).toBe(1);
  const stored = await store.load(runNo(1));
  expect(stored?.specs).toHaveLength(LARGE);
  expect(stored?.tasks).toMatchObject([{ state: "running" }]);
  expect(await store.check()).toEqual([]);
});

test("what it cannot write fails as in the main thread, and nothing of it is there", async () => {
  const file = newFile();
  await using store = openSqliteStore(file, { aside: ALWAYS });
  const epoch = await acquired(store);
  const fixture = new LedgerFixture();
  fixture.submit(tasks);
  {
    const db = new DatabaseSync(file);
    db.exec("alter table task_spec rename to elsewhere");
    db.close();
  }
  const batch = fixture.pending.take(epoch);
  await expect(store.commit(batch)).rejects.toMatchObject({ code: "STORE_FAILED" });
  expect(await store.runs()).toEqual([]);
});

test("a thread that cannot even begin is told of, and the store is not used again", async () => {
  const file = newFile();
  await using store = openSqliteStore(file, { aside: ALWAYS });
  const epoch = await acquired(store);
  const fixture = new LedgerFixture();
  fixture.submit(tasks);
  for (const part of ["", "-wal", "-shm"]) rmSync(`${file}${part}`);
  await expect(store.commit(fixture.pending.take(epoch))).rejects.toMatchObject({ code: "STORE_FAILED" });
  await expect(store.commit(fixture.pending.take(epoch))).rejects.toMatchObject({ code: "STORE_FAILED" });
});

test("a store whose thread has died can be closed, however long ago that was", async () => {
  const file = newFile();
  const store = openSqliteStore(file, { aside: ALWAYS });
  const epoch = await acquired(store);
  const gone = Promise.withResolvers<void>();
  process.once("worker", (thread) => thread.once("exit", () => gone.resolve()));
  for (const part of ["", "-wal", "-shm"]) rmSync(`${file}${part}`);
  const fixture = new LedgerFixture();
  fixture.submit(tasks);
  await expect(store.commit(fixture.pending.take(epoch))).rejects.toMatchObject({ code: "STORE_FAILED" });
  await gone.promise;
  await store[Symbol.asyncDispose]();
});

test("when the disk fails the thread between two batches, nothing more is written by either thread", async () => {
  await using store = openSqliteStore(newFile(), { aside: ALWAYS });
  const epoch = await acquired(store);
  const thread = Promise.withResolvers<Worker>();
  process.once("worker", thread.resolve);
  const fixture = new LedgerFixture();
  fixture.submit(tasks);
  expect(await store.commit(fixture.pending.take(epoch))).toMatchObject({ ok: true });
  const broken = { code: "STORE_FAILED", message: "disk I/O error", ofDisk: true } as const;
  (await thread.promise).emit("message", { broken } satisfies FromWriter);
  await expect(store.secret("fresh")).rejects.toMatchObject({ code: "STORE_FAILED" });
  fixture.submit(tasks, { id: runId("run-2") }, runNo(2));
  await expect(store.commit(fixture.pending.take(epoch))).rejects.toMatchObject({ code: "STORE_FAILED" });
});

test("a thread is begun for a very long batch, or when there are several long ones, and for nothing less", () => {
  const data = { file: ":memory:", durability: "full", foldAfter: 100 } as const;
  const writer = () => new Writer(data, () => {}, { from: 100, atOnce: 1_000, after: 2 });
  expect([99, 100, 99, 100, 100].map((rows) => writer().takes(rows))).toEqual([false, false, false, false, false]);
  const one = writer();
  expect([99, 100, 99, 100, 100].map((rows) => one.takes(rows))).toEqual([false, false, false, false, true]);
  expect(writer().takes(1_000)).toBe(true);
});

import fs, { fstatSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { owner, task } from "../../../../test/rig/builders.ts";
import { ManualClock, START } from "../../../../test/rig/clock.ts";
import { LedgerFixture } from "../../../../test/rig/ledger-fixture.ts";
import { ALWAYS } from "../../../../test/rig/stores.ts";
import { runId } from "../../../domain/ids.ts";
import { runNo } from "../../../domain/run.ts";
import { millis } from "../../../domain/time.ts";
import { acquired } from "../../conformance.ts";
import type { SqliteOptions } from "../connect.ts";
import { openSqliteStore } from "../store.ts";

const root = mkdtempSync(join(tmpdir(), "rota-log-sync-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(root, `${++files}`, "rota.db");

type Ended = (error: NodeJS.ErrnoException | null) => void;

/** A disk that takes as long as the test says, and fails when the test says so. */
const disk = {
  /** The files that were to be synced, by their number. */
  begun: [] as number[],
  waiting: [] as Ended[],
  end(error: NodeJS.ErrnoException | null = null): void {
    disk.waiting.shift()?.(error);
  },
};
const { fdatasync } = fs;
beforeEach(() => {
  [disk.begun, disk.waiting] = [[], []];
  Reflect.set(fs, "fdatasync", (descriptor: number, ended: Ended) => {
    disk.begun.push(fstatSync(descriptor).ino);
    disk.waiting.push(ended);
  });
  syncBuiltinESMExports();
});
afterEach(() => {
  Reflect.set(fs, "fdatasync", fdatasync);
  syncBuiltinESMExports();
});
const failed = (): NodeJS.ErrnoException =>
  Object.assign(new Error("EIO: i/o error, fdatasync"), { code: "EIO", syscall: "fdatasync" });

/** A store that has an owner and nothing that is not on the disk. */
async function opened(options: SqliteOptions = {}) {
  const file = newFile();
  const clock = new ManualClock();
  const store = openSqliteStore(file, { durability: "normal", clock, ...options });
  onTestFinished(async () => {
    const closed = store[Symbol.asyncDispose]();
    for (let no = 0; no < 2; no++) {
      await clock.settle();
      disk.end();
    }
    await closed;
  });
  const epoch = await acquired(store);
  await clock.advance(1_000);
  disk.end();
  await clock.settle();
  disk.begun = [];
  const fixture = new LedgerFixture();
  let runs = 0;
  const commit = () => {
    runs++;
    fixture.submit([task("a")], { id: runId(`run-${runs}`) }, runNo(runs));
    return store.commit(fixture.pending.take(epoch));
  };
  const ask = () => store.request({ kind: "cancel", run: runId("run-1"), by: "mo", at: START });
  return { file, clock, store, commit, ask };
}

describe("what was answered before it was on the disk", () => {
  test("is brought there a second after the first of it, all at once", async () => {
    const { file, clock, commit, ask } = await opened();
    expect(await commit()).toMatchObject({ ok: true });
    await clock.advance(400);
    expect(await commit()).toMatchObject({ ok: true });
    await ask();
    await clock.advance(599);
    expect(disk.begun).toEqual([]);
    await clock.advance(1);
    expect(disk.begun).toEqual([statSync(`${file}-wal`).ino]);
    disk.end();
    await clock.advance(10_000);
    expect(disk.begun).toHaveLength(1);
    await ask();
    await clock.advance(1_000);
    expect(disk.begun).toHaveLength(2);
  });

  test("is brought there when a thread of its own has written it, too", async () => {
    const { clock, commit } = await opened({ aside: ALWAYS });
    expect(await commit()).toMatchObject({ ok: true });
    await clock.advance(1_000);
    expect(disk.begun).toHaveLength(1);
  });

  test("and came while the disk was at it, is brought there after that: a second later, or at once when that is over", async () => {
    const { clock, commit } = await opened();
    await commit();
    await clock.advance(1_200);
    await commit();
    await clock.advance(300);
    expect(disk.begun).toHaveLength(1);
    disk.end();
    await clock.advance(699);
    expect(disk.begun).toHaveLength(1);
    await clock.advance(1);
    expect(disk.begun).toHaveLength(2);
    await commit();
    await clock.advance(1_500);
    expect(disk.begun).toHaveLength(2);
    disk.end();
    await clock.settle();
    expect(disk.begun).toHaveLength(3);
  });

  test("is brought there although nothing but commits gets its turn", async () => {
    const { clock, commit } = await opened();
    for (let no = 0; no < 10; no++) {
      await commit();
      clock.spend(millis(99));
    }
    expect(disk.begun).toHaveLength(0);
    clock.spend(millis(10));
    await commit();
    expect(disk.begun).toHaveLength(1);
  });

  test("is waited for by the next commit when the disk takes too long for it", async () => {
    const { clock, commit, ask } = await opened();
    await commit();
    await clock.advance(2_000);
    expect(await commit()).toMatchObject({ ok: true });
    await clock.advance(1);
    const answered: string[] = [];
    const late = Promise.all([
      commit().then(() => answered.push("commit")),
      ask().then(() => answered.push("request")),
    ]);
    await clock.advance(500);
    expect(answered).toEqual([]);
    disk.end();
    await late;
    expect(answered.toSorted()).toEqual(["commit", "request"]);
  });
});

test("where nothing is written nothing is synced, and nothing waits to be", async () => {
  const { clock, store, commit } = await opened();
  expect(clock.waiting).toEqual([]);
  await store.lastSeq();
  await store.runs();
  store.maintain();
  expect(clock.waiting).toEqual([]);
  // Another owner has the store now: a refused commit is not written either.
  await store.acquire(owner("other"));
  await clock.advance(1_000);
  disk.end();
  await clock.settle();
  expect(await commit()).toEqual({ ok: false, error: "ownership-lost" });
  expect([clock.waiting, disk.begun.length]).toEqual([[], 1]);
});

describe("when the disk does not take it", () => {
  test("nothing more is answered, whichever owner would write it, and the disk is not asked again", async () => {
    const { clock, store, commit, ask } = await opened();
    await commit();
    await clock.advance(1_000);
    await commit();
    disk.end(failed());
    await clock.settle();
    const told = { code: "STORE_FAILED", message: expect.stringContaining("EIO") };
    await expect(commit()).rejects.toMatchObject(told);
    await expect(ask()).rejects.toMatchObject(told);
    await clock.advance(5_000);
    await store[Symbol.asyncDispose]();
    expect([clock.waiting, disk.begun.length]).toEqual([[], 1]);
  });

  test("what a thread is writing at that moment is not answered either", async () => {
    const { clock, commit } = await opened({ aside: ALWAYS });
    await commit();
    await clock.advance(1_000);
    const writing = commit();
    disk.end(failed());
    await expect(writing).rejects.toMatchObject({ code: "STORE_FAILED" });
    await expect(commit()).rejects.toMatchObject({ code: "STORE_FAILED" });
  });

  test("a waiting commit is told", async () => {
    const { clock, commit } = await opened();
    await commit();
    await clock.advance(2_001);
    const late = commit();
    await clock.settle();
    disk.end(failed());
    await expect(late).rejects.toMatchObject({ code: "STORE_FAILED" });
  });
});

describe("closing", () => {
  test("brings everything to the disk first, also what came while the disk was at it", async () => {
    const { file, clock, store, commit } = await opened();
    // While another connection has the file open, SQLite leaves the log as it is.
    using _ = reading(file);
    await commit();
    await clock.advance(1_000);
    await commit();
    let isClosed = false;
    const closed = store[Symbol.asyncDispose]().then(() => {
      isClosed = true;
    });
    await clock.settle();
    expect(disk.begun).toHaveLength(1);
    disk.end();
    await clock.settle();
    expect([disk.begun.length, isClosed]).toEqual([2, false]);
    disk.end();
    await closed;
    expect(clock.waiting).toEqual([]);
  });

  test("does not wait for the second to pass", async () => {
    const { clock, store, commit } = await opened();
    await commit();
    const closed = store[Symbol.asyncDispose]();
    await clock.settle();
    expect(disk.begun).toHaveLength(1);
    disk.end();
    await closed;
    expect(clock.waiting).toEqual([]);
  });

  test("syncs nothing where everything is on the disk", async () => {
    const { store } = await opened();
    await store[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
    expect(disk.begun).toEqual([]);
  });

  test("says so when the disk does not take it, and the file is closed all the same", async () => {
    const { file, clock, store, commit } = await opened();
    await commit();
    const closed = store[Symbol.asyncDispose]();
    await clock.settle();
    disk.end(failed());
    await expect(closed).rejects.toMatchObject({ code: "STORE_FAILED" });
    await expect(commit()).rejects.toThrow();
    using db = reading(file);
    expect(db.prepare("select count(*) as count from run").get()).toEqual({ count: 1 });
  });
});

describe.each<[string, SqliteOptions]>([
  ["written here", { durability: "full" }],
  ["written by its thread", { durability: "full", aside: ALWAYS }],
])("where everything is on the disk before it is answered, %s", (_, options) => {
  test("nothing is left to be synced later", async () => {
    const { clock, store, commit, ask } = await opened(options);
    await commit();
    await ask();
    expect(clock.waiting).toEqual([]);
    await clock.advance(5_000);
    await store[Symbol.asyncDispose]();
    expect(disk.begun).toEqual([]);
  });
});

function reading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true });
  db.prepare("select count(*) from run").get();
  return db;
}

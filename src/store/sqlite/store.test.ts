import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, describe, expect, test } from "vitest";
import { manifest, owner, task } from "../../../test/rig/builders.ts";
import { START } from "../../../test/rig/clock.ts";
import { claimed, LedgerFixture, started } from "../../../test/rig/ledger-fixture.ts";
import { ALWAYS } from "../../../test/rig/stores.ts";
import { runId } from "../../domain/ids.ts";
import { runNo } from "../../domain/run.ts";
import { acquired, storeConformance } from "../conformance.ts";
import { refuseOldSqlite } from "./connect.ts";
import { type Database, type Platform, REAL } from "./platform.ts";
import { openSqliteStore } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "rota-sqlite-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(root, `${++files}`, "rota.db");

storeConformance("sqlite store", (options) => openSqliteStore(newFile(), options));
storeConformance("sqlite store, written by its thread", (options) =>
  openSqliteStore(newFile(), { ...options, aside: ALWAYS }),
);
storeConformance("sqlite store, synced a second later", (options) =>
  openSqliteStore(newFile(), { ...options, durability: "normal" }),
);
storeConformance("sqlite store in memory", (options) => openSqliteStore(":memory:", options));

/** A store with one run, one of whose tasks is held, and a request. */
async function written(file: string): Promise<void> {
  await using store = openSqliteStore(file);
  const fixture = new LedgerFixture();
  const run = fixture.submit([task("a"), task("b", { needs: ["a"] })]);
  fixture.write(run, 0, claimed, started);
  await store.commit(fixture.pending.take(await acquired(store)));
  await store.request({ kind: "cancel", run: runId("run-1"), by: "mo", at: START });
}

describe("what is in the file", () => {
  test("is there again after it was closed and opened", async () => {
    const file = newFile();
    await written(file);
    await using store = openSqliteStore(file);
    expect((await store.load(runNo(1)))?.tasks).toMatchObject([{ state: "running", worker: "w1" }]);
    expect(await store.lastSeq()).toBe(3);
    expect(await store.requests()).toHaveLength(1);
    expect(await store.owner()).toEqual({ ...owner("rota run"), lives: false });
    expect(await store.acquire(owner("again"))).toEqual({ ok: true, value: { epoch: 2 } });
  });

  test("is for its owner only", async () => {
    const file = newFile();
    await written(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, "..")).mode & 0o777).toBe(0o700);
  });

  test("is for its owner only even if it was open to others", async () => {
    const file = newFile();
    await written(file);
    chmodSync(file, 0o644);
    await using _ = openSqliteStore(file);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(`${file}-wal`).mode & 0o077).toBe(0);
  });

  test("does not grow when it is closed and opened", async () => {
    const file = newFile();
    await written(file);
    const size = statSync(file).size;
    for (let times = 0; times < 3; times++) await openSqliteStore(file)[Symbol.asyncDispose]();
    expect(statSync(file).size).toBe(size);
  });
});

describe("durability", () => {
  const FULL = 2;
  const NORMAL = 1;
  test.each([
    [{}, FULL],
    [{ durability: "full" } as const, FULL],
    [{ durability: "normal" } as const, NORMAL],
  ])(
    "a commit of the owner is on the disk before it is answered, unless less is asked for (%o)",
    async (options, synchronous) => {
      const opened: Database[] = [];
      const open: Platform["open"] = (...args) => {
        const db = REAL.open(...args);
        opened.push(db);
        return db;
      };
      await using store = openSqliteStore(newFile(), { ...options, platform: { ...REAL, open } });
      const now = () => opened.map((db) => db.prepare("pragma synchronous").get());
      expect(now()).toEqual([{ synchronous: FULL }]);
      const epoch = await acquired(store);
      expect(now()).toEqual([{ synchronous }]);
      await store.release({ epoch });
      expect(now()).toEqual([{ synchronous: FULL }]);
    },
  );

  test("the file uses a write-ahead log", async () => {
    const file = newFile();
    await written(file);
    using db = new DatabaseSync(file, { readOnly: true });
    expect(db.prepare("pragma journal_mode").get()).toEqual({ journal_mode: "wal" });
  });
});

describe("the laws of the rows are the database's own", () => {
  const columns = {
    run: 1,
    no: 0,
    state: "waiting",
    version: 1,
    attempt: 1,
    failures: 0,
    expiries: 0,
    approved: 0,
    since: 1,
    not_before: null,
    worker: null,
    expires_at: null,
    token_hash: null,
    lost_by: null,
    detail: null,
    sum: 0,
  } as const;
  const held = { state: "claimed", worker: "w", expires_at: 1, token_hash: "h" };
  type Row = Record<string, string | number | null>;

  function insert(table: string, row: Row): void {
    const file = newFile();
    void openSqliteStore(file)[Symbol.asyncDispose]();
    using db = new DatabaseSync(file);
    const names = Object.keys(row);
    db.prepare(`insert into ${table} (${names.join()}) values (${names.map(() => "?").join()})`).run(
      ...Object.values(row),
    );
  }

  test.each<[string, Row]>([
    ["of a task that waits", {}],
    ["of a task that backs off", { not_before: 7 }],
    ["of a held task", held],
    ["of a running task", { ...held, state: "running" }],
    ["of an ended task", { state: "succeeded", detail: "{}" }],
    ["of a task that was never tried", { state: "skipped", attempt: 0, detail: "{}" }],
  ])("a task row may be %s", (_, row) => {
    expect(() => insert("task", { ...columns, ...row })).not.toThrow();
  });

  test.each<[string, Row]>([
    ["in an unknown state", { state: "resting" }],
    ["held without a worker", { ...held, worker: null, expires_at: null, token_hash: null }],
    ["held and waiting", { ...held, state: "waiting" }],
    ["running without a worker", { state: "running" }],
    ["held without a deadline", { ...held, expires_at: null }],
    ["held without a token", { ...held, token_hash: null }],
    ["with a deadline and no holder", { expires_at: 1 }],
    ["with a token and no holder", { token_hash: "h" }],
    ["ended and held", { ...held, state: "succeeded", detail: "{}" }],
    ["held and backing off", { ...held, not_before: 7 }],
    ["ended and backing off", { state: "cancelled", not_before: 7 }],
    ["succeeded without an attempt", { state: "succeeded", attempt: 0, detail: "{}" }],
    ["failed without an attempt", { state: "failed", attempt: 0, detail: "{}" }],
    ["held without an attempt", { ...held, attempt: 0 }],
    ["with more failures than attempts", { failures: 2 }],
    ["with failures below nothing", { failures: -1 }],
    ["with expiries below nothing", { expiries: -1 }],
    ["with a version below nothing", { version: -1 }],
    ["with attempts below nothing", { attempt: -1 }],
    ["half approved", { approved: 2 }],
    ["succeeded without its outcome", { state: "succeeded" }],
    ["failed without its outcome", { state: "failed" }],
    ["skipped without its reason", { state: "skipped" }],
    ["parked without its reason", { state: "parked" }],
    ["of a time that is no number", { since: "soon" }],
    ["of no time", { since: null }],
  ])("a task row is not %s", (_, row) => {
    expect(() => insert("task", { ...columns, ...row })).toThrow(/constraint|cannot store/);
  });

  const run = {
    no: 1,
    id: "r",
    name: "n",
    digest: "d",
    manifest: "{}",
    tasks: 1,
    state: "active",
    outcome: null,
    ended_at: null,
    cancelling: 0,
  } as const;
  test.each<[string, Row]>([
    ["in an unknown state", { state: "resting" }],
    ["finished without an outcome", { state: "finished", ended_at: 1 }],
    ["finished without an end", { state: "finished", outcome: "failed" }],
    ["finished with an unknown outcome", { state: "finished", ended_at: 1, outcome: "deadlock" }],
    ["active with an outcome", { outcome: "failed" }],
    ["active with an end", { ended_at: 1 }],
    ["stalled without saying since when", { state: "stalled", outcome: "waiting" }],
    ["stalled without saying why", { state: "stalled", ended_at: 1 }],
    ["stalled with the outcome of a finished run", { state: "stalled", ended_at: 1, outcome: "failed" }],
    ["half cancelling", { cancelling: 2 }],
  ])("a run row is not %s", (_, row) => {
    expect(() => insert("run", { ...run, ...row })).toThrow(/constraint/);
  });

  const page = { first: 1, last: 2, run: 1, events: "[]", sum: 0 } as const;
  test.each<[string, Row]>([
    ["from before the first position", { first: 0 }],
    ["that ends before it begins", { last: 0 }],
    ["of more events than a page has", { last: 129 }],
    ["of nothing", { run: null }],
    ["without events", { events: null }],
  ])("there is no page %s", (_, row) => {
    expect(() => insert("page", { ...page, ...row })).toThrow(/constraint/);
  });

  test("there is one owner, two runs do not share a name, and no position is written twice", () => {
    const file = newFile();
    void openSqliteStore(file)[Symbol.asyncDispose]();
    using db = new DatabaseSync(file);
    expect(() => db.exec("insert into ownership (one, epoch, sum) values (2, 1, 0)")).toThrow(/constraint/);
    const insertRun = "insert into run (no, id, name, digest, manifest, tasks, state, cancelling, sum)";
    db.exec(`${insertRun} values (1, 'r', 'n', 'd', '{}', 1, 'active', 0, 0)`);
    expect(() => db.exec(`${insertRun} values (2, 'r', 'n', 'd', '{}', 1, 'active', 0, 0)`)).toThrow(/constraint/);
    const insertPage = "insert into page (first, last, run, events, sum) values (1, 1, 1, '[]', 0)";
    db.exec(insertPage);
    expect(() => db.exec(insertPage)).toThrow(/constraint/);
  });

  test("a batch that breaks one is not written at all, and says so as a failure of the store", async () => {
    await using store = openSqliteStore(newFile());
    const fixture = new LedgerFixture();
    const run = fixture.submit([task("a"), task("b")]);
    const batch = fixture
      .write(run, 0, claimed)
      .write(run, 1, claimed)
      .pending.take(await acquired(store));
    const tasks = batch.tasks.map((write, at) => (at === 1 ? { ...write, row: { ...write.row, failures: 9 } } : write));
    await expect(store.commit({ ...batch, tasks })).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await store.runs()).toEqual([]);
    expect(await store.lastSeq()).toBe(0);
    expect(await store.commit({ ...batch, epoch: await acquired(store) })).toEqual({ ok: true, value: undefined });
  });
});

describe("a file that is not ours to use", () => {
  const opening =
    (file: string, readOnly = false) =>
    () =>
      openSqliteStore(file, { readOnly });

  test.each([false, true])(
    "is refused when a newer version wrote it, and left as it was (only reading: %s)",
    async (readOnly) => {
      const file = newFile();
      await written(file);
      const db = new DatabaseSync(file);
      db.exec("pragma user_version = 99");
      db.close();
      expect(opening(file, readOnly)).toThrow(expect.objectContaining({ code: "STORE_NEWER" }));
      const again = new DatabaseSync(file);
      expect(again.prepare("pragma user_version").get()).toEqual({ user_version: 99 });
      again.close();
    },
  );

  test.each([
    ["garbage", "this is not a database, although it is long enough to be one".repeat(100)],
    ["a picture", `\u0089PNG\r\n${"\u0000".repeat(5_000)}`],
  ])("is refused when it is %s, and left as it was", (_, text) => {
    const file = newFile();
    void openSqliteStore(file)[Symbol.asyncDispose]();
    writeFileSync(file, text);
    expect(opening(file)).toThrow(expect.objectContaining({ code: "STORE_CORRUPT" }));
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  test("is refused when half of it is missing", async () => {
    const file = newFile();
    await written(file);
    truncateSync(file, Math.floor(statSync(file).size / 2));
    const readAll = async (): Promise<void> => {
      await using store = openSqliteStore(file);
      await store.load(runNo(1));
      await store.events({});
      await store.requests();
    };
    await expect(readAll()).rejects.toMatchObject({ code: "STORE_CORRUPT" });
  });

  test("is refused when it is a directory, or there is none to read", () => {
    expect(opening(root)).toThrow(expect.objectContaining({ code: "STATE_UNUSABLE" }));
    expect(opening(join(root, "missing", "rota.db"), true)).toThrow(
      expect.objectContaining({ code: "STATE_UNUSABLE" }),
    );
  });

  test("ends in an answer or in words a person can act on, whichever byte of it is damaged", async () => {
    const file = newFile();
    await written(file);
    const sound = readFileSync(file);
    const answers = new Set<string>();
    for (let at = 0; at < sound.length; at += 431) {
      const damaged = Buffer.from(sound);
      damaged[at] = (damaged[at] as number) ^ 0xff;
      writeFileSync(file, damaged);
      const code = await everything(file).then(
        () => "answered",
        (error: Error & { code?: string }) => error.code ?? `byte ${at}: ${error.message}`,
      );
      answers.add(code);
    }
    const allowed = ["answered", "STORE_CORRUPT", "STATE_UNUSABLE", "STORE_NEWER"];
    expect([...answers].filter((answer) => !allowed.includes(answer))).toEqual([]);
    expect(answers).toContain("STORE_CORRUPT");
  });

  async function everything(file: string): Promise<unknown> {
    await using store = openSqliteStore(file);
    return [await store.load(runNo(1)), await store.events({}), await store.requests(), await store.owner()];
  }
});

describe("the version of SQLite", () => {
  test.each(["3.51.2", "3.50.9", "2.99.99", "3", "0"])("%s is refused: it may lose a commit", (version) => {
    expect(() => refuseOldSqlite(version)).toThrow(expect.objectContaining({ code: "SQLITE_OLD" }));
  });
  test.each(["3.51.3", "3.51.10", "3.52.0", "4.0.0", process.versions.sqlite as string])("%s is good", (version) => {
    expect(() => refuseOldSqlite(version)).not.toThrow();
  });
});

describe("two at once", () => {
  test("a reader sees whole batches only, and everything that was answered", async () => {
    const file = newFile();
    await using writer = openSqliteStore(file);
    await using reader = openSqliteStore(file, { readOnly: true });
    const epoch = await acquired(writer);
    const fixture = new LedgerFixture();
    const run = fixture.submit([task("a"), task("b")]);
    await writer.commit(fixture.write(run, 0, claimed).write(run, 1, claimed).pending.take(epoch));
    expect((await reader.load(runNo(1)))?.tasks).toHaveLength(2);
    expect(await reader.lastSeq()).toBe(3);
  });

  test("a reader that has begun goes on with what it began with, and the writer does not wait for it", async () => {
    const file = newFile();
    await using writer = openSqliteStore(file);
    const epoch = await acquired(writer);
    const fixture = new LedgerFixture();
    const run = fixture.submit([task("a"), task("b")]);
    await writer.commit(fixture.pending.take(epoch));
    using reader = new DatabaseSync(file, { readOnly: true });
    const count = () =>
      reader.prepare("select (select max(last) from page) as events, (select count(*) from task) as tasks").get();
    reader.exec("begin");
    expect(count()).toEqual({ events: 1, tasks: 0 });
    await writer.commit(fixture.write(run, 0, claimed).write(run, 1, claimed).pending.take(epoch));
    expect(count()).toEqual({ events: 1, tasks: 0 });
    reader.exec("commit");
    expect(count()).toEqual({ events: 3, tasks: 2 });
  });

  test("of two that open a new file, one makes the tables, and both can use them", async () => {
    const file = newFile();
    await using one = openSqliteStore(file);
    await using other = openSqliteStore(file);
    const old = await acquired(one);
    const epoch = await acquired(other);
    const fixture = new LedgerFixture();
    fixture.submit([task("a")]);
    const batch = fixture.pending.take(old);
    expect(await one.commit(batch)).toEqual({ ok: false, error: "ownership-lost" });
    expect(await other.commit({ ...batch, epoch })).toEqual({ ok: true, value: undefined });
    expect((await one.runs()).map((row) => row.manifest)).toEqual([manifest()]);
  });

  test("a store that is open for reading cannot write", async () => {
    const file = newFile();
    await written(file);
    await using reader = openSqliteStore(file, { readOnly: true });
    await expect(reader.acquire(owner("reader"))).rejects.toMatchObject({ code: "STORE_FAILED" });
  });
});

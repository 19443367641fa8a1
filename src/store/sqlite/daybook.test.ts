import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { owner, task } from "../../../test/rig/builders.ts";
import { always } from "../../../test/rig/property.ts";
import { claimed, everyState, Scribe, started } from "../../../test/rig/scribe.ts";
import { runId } from "../../domain/ids.ts";
import { runNo } from "../../domain/run.ts";
import { acquired } from "../conformance.ts";
import { Daybook, entriesAfter } from "./daybook.ts";
import { sheetFrom, textOf } from "./posting.ts";
import { sheetOf } from "./sheet.ts";
import { openSqliteStore } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "rota-daybook-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newFile = (folder = root): string => join(mkdtempSync(join(folder, `rota-${++files}-`)), "rota.db");
const bookOf = (file: string): string => `${file}-daybook`;
const dead = (): boolean => false;
const open = (file: string) => openSqliteStore(file, { daybookAfter: 0 });

/** A store of which everything that `commit` commits is in its daybook. */
async function opened(file: string) {
  const store = open(file);
  const epoch = await acquired(store);
  const scribe = new Scribe();
  const commit = async (no: number) => {
    scribe.submit([task("a")], { id: runId(`run-${no}`) }, runNo(no));
    return store.commit(scribe.journal.take(epoch));
  };
  return { store, epoch, scribe, commit };
}

const idsIn = async (store: ReturnType<typeof open>) => (await store.runs()).map(({ manifest }) => manifest.id);

describe("a commit that is entered in the daybook", () => {
  test("changes nothing else on the disk", async () => {
    const file = newFile();
    const { store, commit } = await opened(file);
    await using _ = store;
    const [log, book] = [readFileSync(`${file}-wal`), readFileSync(bookOf(file))];
    await commit(1);
    expect(readFileSync(`${file}-wal`).equals(log)).toBe(true);
    expect(readFileSync(bookOf(file)).equals(book)).toBe(false);
    expect(statSync(bookOf(file)).mode & 0o777).toBe(0o600);
  });

  test("is seen by who only reads, while its owner lives and goes on", async () => {
    const file = newFile();
    const { store, commit } = await opened(file);
    await using _ = store;
    await using reader = openSqliteStore(file, { readOnly: true });
    for (const no of [1, 2, 3]) {
      await commit(no);
      expect(await idsIn(reader)).toHaveLength(no);
      if (no === 2) store.tend();
    }
    expect(await idsIn(store)).toEqual(["run-1", "run-2", "run-3"]);
    expect(await store.check()).toEqual([]);
  });

  test("is there after a crash, whoever comes next", async () => {
    const file = newFile();
    const { commit } = await opened(file);
    await commit(1);
    await commit(2);
    await using next = open(file);
    expect(await next.request({ kind: "cancel", run: runId("run-1"), by: "mo", at: 1 as never })).toBe(1);
    expect(await idsIn(next)).toEqual(["run-1", "run-2"]);
  });

  test("by one that was taken for dead is refused, although the disk has taken it", async () => {
    const file = newFile();
    const { store, commit } = await opened(file);
    await using _ = store;
    await commit(1);
    await using next = open(file);
    expect(await next.acquire(owner("next"), dead)).toMatchObject({ ok: true });
    expect(await commit(2)).toEqual({ ok: false, error: "ownership-lost" });
    expect(await idsIn(next)).toEqual(["run-1"]);
    expect(await idsIn(store)).toEqual(["run-1"]);
    expect(existsSync(`${bookOf(file)}-taken`)).toBe(false);
  });

  test("between taking the daybook away and being the owner is not lost", async () => {
    const file = newFile();
    const { commit } = await opened(file);
    await commit(1);
    // Whoever took it away died before it was written down who owns the store.
    copyFileSync(bookOf(file), `${bookOf(file)}-taken`);
    rmSync(bookOf(file));
    await using next = open(file);
    expect(await idsIn(next)).toEqual(["run-1"]);
  });

  test("is written down once, however often it is found", async () => {
    const file = newFile();
    const { store, commit } = await opened(file);
    await commit(1);
    const book = readFileSync(bookOf(file));
    await store[Symbol.asyncDispose]();
    expect(existsSync(bookOf(file))).toBe(false);
    writeFileSync(bookOf(file), book);
    await using again = open(file);
    expect(await idsIn(again)).toEqual(["run-1"]);
    expect(await again.check()).toEqual([]);
  });
});

describe("a daybook", () => {
  test("is laid after some commits, when nobody waits, and taken away when the store is closed", async () => {
    const file = newFile();
    {
      await using store = openSqliteStore(file, { daybookAfter: 3 });
      const epoch = await acquired(store);
      const scribe = new Scribe();
      const seen: boolean[] = [];
      for (const no of [1, 2, 3, 4]) {
        scribe.submit([task("a")], { id: runId(`run-${no}`) }, runNo(no));
        await store.commit(scribe.journal.take(epoch));
        store.tend();
        seen.push(existsSync(bookOf(file)));
      }
      expect(seen).toEqual([false, false, true, true]);
    }
    expect(existsSync(bookOf(file))).toBe(false);
    await using again = openSqliteStore(file, { readOnly: true });
    expect(await idsIn(again)).toHaveLength(4);
  });

  test("is not used where commits need not be on the disk", async () => {
    const file = newFile();
    await using store = openSqliteStore(file, { daybookAfter: 0, durability: "normal" });
    await acquired(store);
    store.tend();
    expect(existsSync(bookOf(file))).toBe(false);
  });

  test("that is full is posted, and begins anew", async () => {
    const file = newFile();
    const { store, commit } = await opened(file);
    await using _ = store;
    const { size } = statSync(bookOf(file));
    for (let no = 1; no <= 200; no++) expect(await commit(no)).toMatchObject({ ok: true });
    expect(statSync(bookOf(file)).size).toBe(size);
    expect(readFileSync(bookOf(file)).includes("run-200")).toBe(true);
    await using next = open(file);
    expect(await idsIn(next)).toHaveLength(200);
    expect(await next.check()).toEqual([]);
  });

  test("has no entries that are too large for it: they go to the tables, in their turn", async () => {
    const file = newFile();
    const { store, epoch, scribe, commit } = await opened(file);
    await using _ = store;
    await commit(1);
    scribe.submit([task("big", { title: "x".repeat(300_000) })], { id: runId("run-2") }, runNo(2));
    expect(await store.commit(scribe.journal.take(epoch))).toMatchObject({ ok: true });
    await commit(3);
    await using next = open(file);
    expect(await idsIn(next)).toEqual(["run-1", "run-2", "run-3"]);
    expect((await next.load(runNo(2)))?.specs[0]?.title).toHaveLength(300_000);
  });

  test("of which an entry in the middle is damaged is refused, with what to do", async () => {
    const file = newFile();
    const { commit } = await opened(file);
    for (const no of [1, 2, 3]) await commit(no);
    const book = readFileSync(bookOf(file));
    book.write("?", 4_096 + 200);
    writeFileSync(bookOf(file), book);
    await using next = open(file);
    await expect(next.runs()).rejects.toMatchObject({
      code: "STORE_CORRUPT",
      message: expect.stringMatching(/entry \d+ of its daybook is missing or damaged.*move .*-daybook.* away/),
    });
    await expect(next.acquire(owner("next"), dead)).rejects.toMatchObject({ code: "STORE_CORRUPT" });
    rmSync(bookOf(file));
    expect(await idsIn(next)).toEqual([]);
    expect(await next.acquire(owner("next"), dead)).toMatchObject({ ok: true });
  });

  test.skipIf(!existsSync("/dev/shm"))("works on a file system without a disk", async () => {
    const file = newFile("/dev/shm");
    try {
      const { store, commit } = await opened(file);
      for (const no of [1, 2]) await commit(no);
      await using next = open(file);
      expect(await idsIn(next)).toEqual(["run-1", "run-2"]);
      await store[Symbol.asyncDispose]();
    } finally {
      rmSync(join(file, ".."), { recursive: true, force: true });
    }
  });

  test("gives back what was entered, whatever it says", () =>
    always(
      60,
      fc.property(fc.array(fc.string({ unit: "binary", maxLength: 3_000 }), { maxLength: 8 }), (texts) => {
        const file = newFile();
        writeFileSync(file, "");
        const book = Daybook.lay(file, "7");
        if (book === undefined) throw new Error("there is no room");
        const entries = texts.map((text, at) => ({ serial: at + 1, text: text.toWellFormed() }));
        book.putInPlace();
        for (const entry of entries) expect(book.enter(entry)).toBe(true);
        expect(entriesAfter(file, "7", 0)).toEqual(entries);
        expect(entriesAfter(file, "7", 2)).toEqual(entries.slice(2));
        expect(entriesAfter(file, "8", 0)).toEqual([]);
        book.remove();
        book.close();
        expect(existsSync(bookOf(file))).toBe(false);
      }),
    ));

  test("has a sheet as it was when it was entered", () => {
    const sheet = sheetOf(everyState(3).batch, 5);
    expect(sheetFrom(textOf(sheet))).toEqual(sheet);
  });

  test("is not used any more by one of whose commits one was refused", async () => {
    const file = newFile();
    const { store, epoch, scribe, commit } = await opened(file);
    await using _ = store;
    await commit(1);
    const run = scribe.submit([task("a"), task("b")], { id: runId("run-2") }, runNo(2));
    await store.commit(scribe.journal.take(epoch));
    const batch = scribe.write(run, 0, claimed).write(run, 1, claimed, started).journal.take(epoch);
    const stale = { ...batch, tasks: batch.tasks.map((each) => ({ ...each, replaces: each.replaces + 1 })) };
    expect(await store.commit(stale)).toEqual({ ok: false, error: "ownership-lost" });
    expect(await store.commit(batch)).toEqual({ ok: false, error: "ownership-lost" });
    await store.release(epoch);
    expect(await idsIn(store)).toEqual(["run-1", "run-2"]);
    expect(await store.owner()).toBeUndefined();
  });
});

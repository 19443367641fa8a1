/** Several who have the same store open: readers beside its owner, owners that were taken for dead, and whoever comes after them. */
import { chmodSync, copyFileSync, existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { success, task } from "../../../test/rig/builders.ts";
import { START } from "../../../test/rig/clock.ts";
import { claimed, Scribe, started } from "../../../test/rig/scribe.ts";
import { runId } from "../../domain/ids.ts";
import { type Run, runNo } from "../../domain/run.ts";
import { seededRandom } from "../../effects/random.ts";
import { acquired } from "../conformance.ts";
import { replayAll } from "../replay.ts";
import type { Store } from "../store.ts";
import { readBookmark } from "./bookmark.ts";
import type { SqliteOptions } from "./connect.ts";
import { hasUnposted } from "./posting.ts";
import { prepareReading } from "./statements.ts";
import { openSqliteStore } from "./store.ts";

const SEED = Number(process.env["SEED"] ?? 17);
const LIVES = Number(process.env["LIVES"] ?? 12);

const root = mkdtempSync(join(tmpdir(), "rota-owners-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
afterEach(() => vi.restoreAllMocks());
const newFile = (): string => join(mkdtempSync(join(root, "store-")), "rota.db");
const bookOf = (file: string): string => `${file}-daybook`;

/** An owner, and how it commits one run after the other. What it writes follows on what `scribe` has written before. */
async function owning(file: string, scribe = new Scribe(), options: SqliteOptions = { daybookAfter: 0 }) {
  const store = openSqliteStore(file, options);
  const epoch = await acquired(store);
  const commit = (no: number) => {
    scribe.submit([task("a")], { id: runId(`run-${no}`) }, runNo(no));
    return store.commit(scribe.journal.take(epoch));
  };
  return { store, epoch, scribe, commit };
}

const numbersIn = async (store: Store) => (await store.runs()).map(({ no }) => no);

async function expectWhole(store: Store, numbers: readonly number[]): Promise<void> {
  expect(await numbersIn(store)).toEqual(numbers);
  expect(await store.check()).toEqual([]);
  expect(await replayAll(store)).toEqual([]);
}

describe("who only reads", () => {
  test("takes nothing for damage that was posted, and written over, between two looks of its own", async () => {
    const file = newFile();
    const { store, commit } = await owning(file);
    await using _ = store;
    for (const no of [1, 2, 3]) await commit(no);
    using db = new DatabaseSync(file, { readOnly: true });
    const { bookmark, ...sql } = prepareReading(db, 7);
    const before = bookmark?.get();
    await store.lastSeq();
    for (const no of [4, 5]) await commit(no);
    const behind = { ...sql, bookmark: { get: () => before } } as never;
    expect(hasUnposted(file, { sql: behind })).toBe(true);
    await using reader = openSqliteStore(file, { readOnly: true });
    await expectWhole(reader, [1, 2, 3, 4, 5]);
  });

  test("leaves a file as open to others as it is", async () => {
    const file = newFile();
    const { store, commit } = await owning(file);
    await using _ = store;
    await commit(1);
    chmodSync(file, 0o440);
    await using reader = openSqliteStore(file, { readOnly: true });
    await reader.runs().catch(() => {});
    expect(statSync(file).mode & 0o777).toBe(0o440);
    chmodSync(file, 0o600);
  });
});

describe("an owner that was taken for dead", () => {
  test.each([
    ["gives the store back", (store: Store, epoch: number) => store.release(epoch)],
    [
      "asks for something",
      (store: Store) => store.request({ kind: "cancel", run: runId("run-1"), by: "mo", at: START }),
    ],
    ["forgets old keys", (store: Store) => store.forget(START)],
    ["tends its files", async (store: Store) => store.tend()],
    ["closes them", (store: Store) => store[Symbol.asyncDispose]()],
  ])("and %s costs whoever has the store now nothing", async (_, act) => {
    for (const daybookAfter of [0, 2]) {
      const file = newFile();
      const first = await owning(file, new Scribe(), { daybookAfter });
      for (const no of [1, 2]) await first.commit(no);
      const second = await owning(file, first.scribe);
      await second.commit(3);
      await act(first.store, first.epoch);
      await second.commit(4);
      await expectWhole(second.store, [1, 2, 3, 4]);
      await second.commit(5);
      await second.store[Symbol.asyncDispose]();
      await using after = openSqliteStore(file, { readOnly: true });
      await expectWhole(after, [1, 2, 3, 4, 5]);
      await first.store[Symbol.asyncDispose]();
    }
  });

  test("has nothing refused that is right, once the store is its own again", async () => {
    const file = newFile();
    const { store, epoch, scribe } = await owning(file);
    await using _ = store;
    const run = scribe.submit([task("a")]);
    await store.commit(scribe.journal.take(epoch));
    {
      const { store: other, epoch: later } = await owning(file, scribe);
      await other.commit(scribe.write(run, 0, claimed).journal.take(later));
      await other[Symbol.asyncDispose]();
    }
    const again = await acquired(store);
    await store.load(run.no);
    expect(await store.commit(scribe.write(run, 0, started).journal.take(again))).toMatchObject({ ok: true });
    await expectWhole(store, [1]);
  });
});

describe("a daybook", () => {
  test("that somebody took away from under its owner costs nothing", async () => {
    const file = newFile();
    const { store, commit } = await owning(file);
    await using _ = store;
    for (const no of [1, 2]) await commit(no);
    rmSync(bookOf(file));
    for (const no of [3, 4]) expect(await commit(no)).toMatchObject({ ok: true });
    await expectWhole(store, [1, 2, 3, 4]);
  });

  test("of one who promised more is synced to the tables by one who promises less", async () => {
    const file = newFile();
    const { commit } = await owning(file);
    await commit(1);
    const said = vi.spyOn(DatabaseSync.prototype, "exec");
    await using careless = openSqliteStore(file, { durability: "normal" });
    await acquired(careless);
    const synced = said.mock.calls.map(([text]) => text).filter((text) => text.includes("synchronous"));
    expect(synced.slice(0, 3)).toEqual([
      "pragma synchronous = normal",
      "pragma synchronous = full",
      "pragma synchronous = normal",
    ]);
    await expectWhole(careless, [1]);
  });

  test("does not take a run whose number is taken: that is for the tables to say", async () => {
    const file = newFile();
    const { store, commit } = await owning(file);
    await using _ = store;
    await commit(1);
    await expect(commit(1)).rejects.toMatchObject({ code: "STORE_FAILED" });
    expect(await numbersIn(store)).toEqual([1]);
  });

  test("numbers every commit, however it is written", async () => {
    const file = newFile();
    const { store, epoch, scribe, commit } = await owning(file, new Scribe(), {
      daybookAfter: 0,
      aside: { from: 100, atOnce: 100, after: 0 },
    });
    await using _ = store;
    const wide = (no: number, count: number) => {
      const tasks = Array.from({ length: count }, (_, at) => task(`t${at}`));
      scribe.submit(tasks, { id: runId(`run-${no}`) }, runNo(no));
      return store.commit(scribe.journal.take(epoch));
    };
    // Entered, by the thread, at once; and some given before the one before them is answered.
    await Promise.all([commit(1), wide(2, 200), commit(3), wide(4, 60), commit(5)]);
    await store.request({ kind: "cancel", run: runId("run-1"), by: "mo", at: START });
    await store.lastSeq();
    using db = new DatabaseSync(file, { readOnly: true });
    expect(readBookmark({ sql: prepareReading(db, 7) })).toEqual({ book: String(epoch), posted: 6 });
    await expectWhole(store, [1, 2, 3, 4, 5]);
  });
});

describe(`whatever happens to a store (SEED=${SEED}, LIVES=${LIVES})`, () => {
  test.each(Array.from({ length: LIVES }, (_, no) => SEED + no))(
    "everything that was answered is there, once and in order (%i)",
    async (seed) => {
      const life = new Life(seed);
      await life.begin();
      for (let step = 0; step < 60; step++) await life.step();
      await life.end();
    },
  );
});

/** One store from its first owner to its last, with everybody who comes by. */
class Life {
  readonly #random;
  readonly #file = newFile();
  readonly #scribe = new Scribe();
  readonly #runs: Run[] = [];
  readonly #gone: Store[] = [];
  #reader!: Store;
  #store!: Store;
  #epoch = 0;
  #requests = 0;
  #underway: Promise<unknown>[] = [];

  constructor(seed: number) {
    this.#random = seededRandom(seed);
  }

  async begin(): Promise<void> {
    await this.#open();
    this.#reader = openSqliteStore(this.#file, { readOnly: true });
  }

  async step(): Promise<void> {
    const acts: readonly (() => Promise<void>)[] = [
      async () => this.#submit(1 + this.#below(3)),
      async () => this.#submit(1),
      async () => this.#submit(120),
      async () => this.#move(),
      async () => this.#move(),
      async () => this.#move(),
      () => this.#settle(async () => this.#store.tend()),
      () => this.#settle(async () => expect(await this.#reader.lastSeq()).toBe(this.#scribe.world.seq)),
      async () => this.#ask(this.#store),
      () => this.#askFromOutside(),
      async () => void this.#underway.push(this.#store.forget(START)),
      () => this.#settle(() => this.#change()),
      () => this.#settle(() => this.#bother()),
      () => this.#settle(() => this.#crash()),
    ];
    await acts[this.#below(acts.length)]?.();
  }

  async end(): Promise<void> {
    await this.#settle(async () => {});
    for (const each of [...this.#gone, this.#reader, this.#store]) await each[Symbol.asyncDispose]();
    expect(existsSync(bookOf(this.#file))).toBe(false);
    await using last = openSqliteStore(this.#file, { readOnly: true });
    await this.#expectAll(last);
  }

  async #open(): Promise<void> {
    const daybookAfter = [0, 3, 8][this.#below(3)] as number;
    this.#store = openSqliteStore(this.#file, {
      daybookAfter,
      foldAfter: 30,
      aside: { from: 100, atOnce: 100, after: 0 },
    });
    this.#epoch = await acquired(this.#store);
  }

  /** Not waited for: the next may be given before this one is answered. */
  #commit(): void {
    const batch = this.#scribe.journal.take(this.#epoch);
    this.#underway.push(this.#store.commit(batch).then((result) => expect(result).toMatchObject({ ok: true })));
  }

  #submit(count: number): void {
    const no = this.#runs.length + 1;
    const title = "ü".repeat(this.#below(2) * this.#below(6_000));
    const tasks = Array.from({ length: count }, (_, at) => task(`t${at}`, { title }));
    this.#runs.push(this.#scribe.submit(tasks, { id: runId(`run-${no}`) }, runNo(no)));
    this.#commit();
  }

  #move(): void {
    const run = this.#runs[this.#below(this.#runs.length)];
    if (run === undefined) return;
    const at = this.#below(run.tasks.length);
    const state = run.tasks[at]?.status.state;
    if (state === "ready") this.#scribe.write(run, at, claimed);
    else if (state === "claimed") this.#scribe.write(run, at, started);
    else if (state === "running") this.#scribe.write(run, at, { kind: "succeeded", outcome: success });
    else return;
    this.#commit();
  }

  #ask(store: Store): void {
    this.#requests++;
    this.#underway.push(store.request({ kind: "cancel", run: runId("run-1"), by: "mo", at: START }));
  }

  async #askFromOutside(): Promise<void> {
    await using other = openSqliteStore(this.#file);
    this.#ask(other);
    await this.#settle(async () => {});
  }

  /** Another owner: the one before has given the store back, or is still there and was taken for dead. */
  async #change(): Promise<void> {
    if (this.#below(2) === 0) {
      await this.#store.release(this.#epoch);
      await this.#store[Symbol.asyncDispose]();
    } else this.#gone.push(this.#store);
    await this.#open();
    if (this.#below(2) === 0) for (const { no } of this.#runs) await this.#store.load(no);
  }

  /** One that was taken for dead does what it would do if it were not. */
  async #bother(): Promise<void> {
    const zombie = this.#gone[this.#below(this.#gone.length)];
    if (zombie === undefined) return;
    zombie.tend();
    await zombie.forget(START);
    await zombie.release(this.#below(this.#epoch));
    const other = new Scribe();
    other.submit([task("z")], { id: runId("zombie") }, runNo(9_999));
    const batch = other.journal.take(1 + this.#below(this.#epoch - 1));
    expect(await zombie.commit(batch)).toEqual({ ok: false, error: "ownership-lost" });
  }

  /** As it would be found if the power went now. */
  async #crash(): Promise<void> {
    const copy = newFile();
    for (const end of ["", "-wal", "-daybook", "-daybook-taken"])
      if (existsSync(`${this.#file}${end}`)) copyFileSync(`${this.#file}${end}`, `${copy}${end}`);
    {
      await using found = openSqliteStore(copy, { readOnly: this.#below(2) === 0 });
      await this.#expectAll(found);
    }
    rmSync(dirname(copy), { recursive: true });
  }

  async #expectAll(store: Store): Promise<void> {
    expect(await store.lastSeq()).toBe(this.#scribe.world.seq);
    expect(await store.requests()).toHaveLength(this.#requests);
    await expectWhole(
      store,
      this.#runs.map(({ no }) => no),
    );
  }

  async #settle(then: () => Promise<unknown>): Promise<void> {
    await Promise.all(this.#underway);
    this.#underway = [];
    await then();
  }

  #below(most: number): number {
    return Math.floor(this.#random.next() * most);
  }
}

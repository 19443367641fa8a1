/** What power cuts and failing disks leave behind, made by hand and so on every machine (R3, R4, S1, S15). `TORN=10000` tries more. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync, StatementSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { ManualClock } from "../../../test/rig/clock.ts";
import { type Image, layDown, mixPages, takeImage, tear } from "../../../test/rig/images.ts";
import { perform, portrait, portraits, STEPS } from "../../../test/rig/verbs.ts";
import { seededRandom } from "../../effects/random.ts";
import { replayAll } from "../replay.ts";
import { DURABILITIES, type SqliteOptions } from "./connect.ts";
import { openSqliteStore } from "./store.ts";

const SEED = Number(process.env["SEED"] ?? 17);
const CASES = Number(process.env["TORN"] ?? 100);
// Many cases take their time, especially on a busy machine.
vi.setConfig({ testTimeout: 60_000 + CASES * 100 });

const root = mkdtempSync(join(tmpdir(), "rota-torn-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(root, `${++files}`, "rota.db");

/** What the store answers before the first step and after each, and how its files look. */
let seen: readonly string[] = [];
const images: Image[] = [];
let closed: Image;

beforeAll(async () => {
  seen = await portraits(() => openSqliteStore(":memory:"));
  const file = newFile();
  {
    await using store = openSqliteStore(file);
    images[0] = takeImage(file);
    await perform(store, (done) => {
      images[done] = takeImage(file);
    });
  }
  closed = takeImage(file);
});

async function expectAs(image: Image, allowed: readonly number[], what: string): Promise<void> {
  const file = newFile();
  layDown(file, image);
  await using store = openSqliteStore(file, { readOnly: true });
  const found = await portrait(store);
  expect(
    allowed.some((step) => seen[step] === found),
    `${what}: it is as after none of the steps ${allowed.join()}`,
  ).toBe(true);
  expect(await store.check(), what).toEqual([]);
  expect(await replayAll(store), what).toEqual([]);
}

describe(`after a power cut (SEED=${SEED})`, () => {
  test(`a log that was being written is whole up to the last answer, whatever of the rest made it (${CASES} cuts)`, async () => {
    const random = seededRandom(SEED);
    for (let no = 0; no < CASES; no++) {
      const step = Math.floor(random.next() * STEPS.length);
      const [before, after] = [images[step] as Image, images[step + 1] as Image];
      const synced = before.wal.length;
      const torn = { ...before, wal: tear(after.wal, synced, random) };
      await expectAs(torn, [step, step + 1], `cut ${no}, in step ${step + 1} (${STEPS[step]})`);
    }
  });

  test("a database into which the log was being folded is whole, whichever pages made it", async () => {
    const random = seededRandom(SEED);
    const last = images[STEPS.length] as Image;
    for (let no = 0; no < CASES / 10; no++) {
      const mixed = { ...last, db: mixPages(last.db, closed.db, random) };
      await expectAs(mixed, [STEPS.length], `fold ${no}`);
    }
  });
});

describe("when a statement fails", () => {
  const exec: Guarded = Reflect.get(DatabaseSync.prototype, "exec");
  const originals = { exec, ...pick(StatementSync.prototype) };
  let calls = 0;
  let failAt = Number.POSITIVE_INFINITY;
  afterEach(() => {
    Object.assign(StatementSync.prototype, pick(originals));
    Reflect.set(DatabaseSync.prototype, "exec", originals.exec);
  });

  /** From now on the N-th call of the database fails as a disk does: once, or always. */
  function armed(at: number, lasting: boolean): void {
    [calls, failAt] = [0, at];
    const guarded = (call: Guarded) =>
      function (this: unknown, ...args: never[]): unknown {
        // SQLite itself rolls back after such a failure, so a rollback never fails.
        if (String(args[0]) === "rollback") return call.apply(this as never, args);
        calls++;
        if (calls === failAt || (lasting && calls > failAt)) throw ioError();
        return call.apply(this as never, args);
      };
    const { run, get, all } = originals;
    Object.assign(StatementSync.prototype, { run: guarded(run), get: guarded(get), all: guarded(all) });
    Reflect.set(DatabaseSync.prototype, "exec", guarded(originals.exec));
  }

  test.each(DURABILITIES)(
    "S15: what was answered is kept, nothing is answered after the failure, and the rest can be done when it is over (durability: %s)",
    async (durability) => {
      // Nothing is synced by the time: how many statements there are must not depend on how fast the machine is.
      const options = { durability, clock: new ManualClock() };
      let total = 0;
      armed(Number.POSITIVE_INFINITY, false);
      {
        await using store = openSqliteStore(newFile(), options);
        calls = 0;
        // What the store does after its last answer has no later answer that could tell of it.
        await perform(store, () => {
          total = calls;
        });
      }
      for (let at = 1; at <= total; at += Math.ceil(total / 40)) await failingAt(at, at % 2 === 0, options);
    },
  );

  async function failingAt(at: number, lasting: boolean, options: SqliteOptions): Promise<void> {
    const file = newFile();
    const what = `statement ${at}${lasting ? " and every later one" : ""}`;
    let answered = 0;
    let failures = 0;
    const store = openSqliteStore(file, options);
    armed(at, lasting);
    const heard = (done: number): void => {
      expect(failures, `${what}: step ${done} was answered after a failure`).toBe(0);
      answered = done;
    };
    await perform(store, heard, 0, () => failures++);
    expect(failures, what).toBeGreaterThan(0);
    failAt = Number.POSITIVE_INFINITY;
    armed(Number.POSITIVE_INFINITY, false);
    await store[Symbol.asyncDispose]();

    await using again = openSqliteStore(file, options);
    expect(await portrait(again), what).toBe(seen[answered]);
    await perform(again, () => {}, answered);
    expect(await portrait(again), what).toBe(seen.at(-1));
  }
});

type Guarded = (...args: never[]) => unknown;
type Calls = Pick<StatementSync, "run" | "get" | "all">;
const pick = ({ run, get, all }: Calls): Calls => ({ run, get, all });
const ioError = (): Error => Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR", errcode: 10 });

import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { owner, task } from "../../../../test/rig/builders.ts";
import { ManualClock } from "../../../../test/rig/clock.ts";
import { type Image, layDown, takeImage, tear } from "../../../../test/rig/images.ts";
import { LedgerFixture } from "../../../../test/rig/ledger-fixture.ts";
import { until } from "../../../../test/rig/rota.ts";
import { runNo } from "../../../domain/run.ts";
import { seededRandom } from "../../../effects/random.ts";
import { acquired } from "../../conformance.ts";
import { DURABILITIES, type Durability } from "../connect.ts";
import { type Platform, REAL } from "../platform.ts";
import { openSqliteStore } from "../store.ts";
import { brokenLog } from "./check.ts";
import { readMark } from "./mark.ts";

const root = mkdtempSync(join(tmpdir(), "rota-log-check-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const laidDown = (image: Image): string => {
  const file = join(root, `${++files}`, "rota.db");
  layDown(file, image);
  return file;
};

const COMMITS = 20;
const [HEADER, FRAME] = [32, 24 + 4_096];
/** As if the machine had been rebooted: the power was cut meanwhile, or may have been. */
const LATER_BOOT: Platform = { ...REAL, boot: () => "another start" };

interface Written {
  readonly image: Image;
  /** Where the log ended after each commit. */
  readonly ends: readonly number[];
}

/** The log of a scheduler that was killed. Where commits are synced later, the first `synced` of them were. */
async function written(durability: Durability, synced = 0): Promise<Written> {
  const file = join(root, `${++files}`, "rota.db");
  // The initial schema is not in the log any more.
  await openSqliteStore(file)[Symbol.asyncDispose]();
  const clock = new ManualClock();
  await using store = openSqliteStore(file, { durability, clock });
  const epoch = await acquired(store);
  const fixture = new LedgerFixture();
  const ends: number[] = [];
  for (let no = 1; no <= COMMITS; no++) {
    fixture.submit([task("a")], { id: `run-${no}` as never }, runNo(no));
    await store.commit(fixture.pending.take(epoch));
    ends.push(endOf(takeImage(file).wal));
    if (no !== synced) continue;
    await clock.advance(1_000);
    const pages = ((ends.at(-1) as number) - HEADER) / FRAME;
    await until("it is synced", () => readMark(REAL.files, file)?.pages === pages);
  }
  return { image: takeImage(file), ends };
}

const logs = new Map<Durability, Written>();
beforeAll(async () => {
  for (const durability of DURABILITIES) logs.set(durability, await written(durability));
});

/** The position after the last page of this log: what follows was allocated in advance. */
function endOf(wal: Buffer): number {
  let end = HEADER;
  while (end + FRAME <= wal.length && wal.readUInt32BE(end + 8) === wal.readUInt32BE(16)) end += FRAME;
  return end;
}

function flipped(whole: Image, at: number): Image {
  const wal = Buffer.from(whole.wal);
  wal[at] = (wal[at] as number) ^ 0x10;
  return { ...whole, wal };
}

const DAMAGED = /pages of its log were written after a damaged page/;

describe.each(DURABILITIES)("a log of a scheduler that died (durability: %s)", (durability) => {
  const log = (): Written => logs.get(durability) as Written;

  test("that is whole is opened, and has everything in it", async () => {
    await using store = openSqliteStore(laidDown(log().image));
    expect(await store.runs()).toHaveLength(COMMITS);
    expect(await store.damage()).toBeUndefined();
  });

  test("R10: that was changed before its last commit is refused wherever it was, whatever is promised now, and left as it is", async () => {
    const { image, ends } = log();
    const last = ends.at(-2) as number;
    const random = seededRandom(17);
    const places = [17, 25, HEADER + 9, HEADER + 17, HEADER + 700, ...Array.from({ length: 60 }, () => random.next())];
    for (const [no, place] of places.entries()) {
      const at = place >= 1 ? place : HEADER + Math.floor(place * (last - HEADER));
      // Without these bytes it is not known that the page was the last of its commit.
      if (at > HEADER && (at - HEADER) % FRAME >= 4 && (at - HEADER) % FRAME < 8) continue;
      const file = laidDown(flipped(image, at));
      const now = DURABILITIES[no % DURABILITIES.length] as Durability;
      expect(() => openSqliteStore(file, { durability: now }), `byte ${at}`).toThrow(DAMAGED);
      expect(existsSync(`${file}-wal`)).toBe(true);
      await using look = openSqliteStore(file, { readOnly: true });
      expect(await look.check(), `byte ${at}`).toContainEqual(expect.stringContaining("move"));
      expect(await look.damage()).toMatch(DAMAGED);
    }
  });

  test("is looked over by the name of the file that is meant, too", () => {
    const { image, ends } = log();
    const file = laidDown(flipped(image, ends[3] as number));
    symlinkSync(file, `${file}-elsewhere`);
    expect(() => openSqliteStore(`${file}-elsewhere`)).toThrow(DAMAGED);
  });

  test("R3: what a power cut leaves of the last commit is no damage", async () => {
    const { image, ends } = log();
    const random = seededRandom(18);
    const [before, end] = [ends.at(-2) as number, ends.at(-1) as number];
    for (let no = 0; no < 200; no++) {
      const torn = tear(image.wal.subarray(0, end), before, random);
      await using store = openSqliteStore(laidDown({ ...image, wal: torn }), { platform: LATER_BOOT });
      expect((await store.runs()).length).toBeGreaterThanOrEqual(COMMITS - 1);
    }
  });
});

describe("where commits are synced after they are answered", () => {
  const SYNCED = 12;
  let log: Written;
  beforeAll(async () => {
    log = await written("normal", SYNCED);
  });

  test("R3: whatever a power cut leaves of those that were not, is no damage, and those that were are there", async () => {
    const random = seededRandom(19);
    const [synced, end] = [log.ends[SYNCED - 1] as number, log.ends.at(-1) as number];
    const kept = new Set<number>();
    let looksDamaged = 0;
    for (let no = 0; no < 200; no++) {
      const wal = Buffer.from(log.image.wal.subarray(0, end));
      // The disk writes pages in any order, and pages that it did not write are as they were before.
      for (let at = synced; at < end; at += FRAME) if (random.next() < 0.1) wal.fill(0, at, at + FRAME);
      const file = laidDown({ ...log.image, wal: no % 2 === 0 ? wal : tear(wal, synced, random) });
      if (brokenLog(REAL, file) !== undefined) looksDamaged++;
      await using store = openSqliteStore(file, {
        platform: LATER_BOOT,
        durability: DURABILITIES[no % 2] as Durability,
      });
      const { length } = await store.runs();
      expect(length).toBeGreaterThanOrEqual(SYNCED);
      expect(await store.check()).toEqual([]);
      kept.add(length);
    }
    expect([looksDamaged > 50, kept.size > 3]).toEqual([true, true]);
  });

  test("R10: damage before that is refused after a power cut as well", () => {
    const random = seededRandom(20);
    const synced = log.ends[SYNCED - 1] as number;
    for (let no = 0; no < 60; no++) {
      const at = HEADER + Math.floor(random.next() * (synced - HEADER));
      if ((at - HEADER) % FRAME >= 4 && (at - HEADER) % FRAME < 8) continue;
      const file = laidDown(flipped(log.image, at));
      expect(() => openSqliteStore(file, { platform: LATER_BOOT }), `byte ${at}`).toThrow(DAMAGED);
    }
  });

  test("R10: damage behind that is refused where the machine was not started anew: a power cut has not done it", () => {
    const at = (log.ends[SYNCED + 1] as number) + 700;
    expect(() => openSqliteStore(laidDown(flipped(log.image, at)))).toThrow(DAMAGED);
  });

  test("a mark that cannot be read says that the log may lack something, and no more", async () => {
    const file = laidDown({
      ...flipped(log.image, (log.ends[SYNCED + 1] as number) + 700),
      mark: Buffer.from("rota-log"),
    });
    await using store = openSqliteStore(file);
    expect((await store.runs()).length).toBeGreaterThanOrEqual(SYNCED);
  });

  test("the mark is there for as long as such an owner has the store, and no longer", async () => {
    const file = laidDown(log.image);
    const isMarked = (): boolean => existsSync(`${file}-synced`);
    {
      await using store = openSqliteStore(file, { durability: "normal" });
      const epoch = await acquired(store);
      expect(isMarked()).toBe(true);
      await store.release({ epoch });
      expect(isMarked()).toBe(false);
      await acquired(store);
      expect(isMarked()).toBe(true);
    }
    await using store = openSqliteStore(file);
    expect(isMarked()).toBe(true);
    await acquired(store);
    expect(isMarked()).toBe(false);
  });

  test("an owner that is refused the store leaves its mark as it is", async () => {
    const file = laidDown(log.image);
    await using store = openSqliteStore(file, { durability: "normal" });
    await acquired(store);
    const before = readFileSync(`${file}-synced`, "utf8");
    await using other = openSqliteStore(file, { lives: () => true });
    expect(await other.acquire(owner("other"))).toMatchObject({ ok: false });
    expect(readFileSync(`${file}-synced`, "utf8")).toBe(before);
  });
});

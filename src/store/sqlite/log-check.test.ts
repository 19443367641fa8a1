import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { type Image, layDown, takeImage, tear } from "../../../test/rig/images.ts";
import { Scribe } from "../../../test/rig/scribe.ts";
import { runNo } from "../../domain/run.ts";
import { seededRandom } from "../../effects/random.ts";
import { acquired } from "../conformance.ts";
import { openSqliteStore } from "./store.ts";

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
let image: Image;
/** Where the log ended after each commit. */
const ends: number[] = [];
beforeAll(async () => {
  const file = join(root, "whole", "rota.db");
  // What is there from the beginning is not in the log any more.
  await openSqliteStore(file)[Symbol.asyncDispose]();
  await using store = openSqliteStore(file);
  const epoch = await acquired(store);
  const scribe = new Scribe();
  for (let no = 1; no <= COMMITS; no++) {
    scribe.submit([task("a")], { id: `run-${no}` as never }, runNo(no));
    await store.commit(scribe.journal.take(epoch));
    ends.push(endOf(takeImage(file).wal));
  }
  image = takeImage(file);
});

/** Behind the last page that is of this log: what follows was written in advance. */
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

test("a log that is whole is opened, and has everything in it", async () => {
  await using store = openSqliteStore(laidDown(image));
  expect(await store.runs()).toHaveLength(COMMITS);
});

test("R10: one that was changed before its last commit is refused wherever it was, and left as it is", async () => {
  const last = ends.at(-2) as number;
  const random = seededRandom(17);
  const places = [17, 25, HEADER + 9, HEADER + 17, HEADER + 700, ...Array.from({ length: 60 }, () => random.next())];
  for (const place of places) {
    const at = place >= 1 ? place : HEADER + Math.floor(place * (last - HEADER));
    // That a page was the last of its commit is not known any more when it does not say so.
    if (at > HEADER && (at - HEADER) % FRAME >= 4 && (at - HEADER) % FRAME < 8) continue;
    const file = laidDown(flipped(image, at));
    expect(() => openSqliteStore(file), `byte ${at}`).toThrow(
      /pages of its log were written after one that is damaged/,
    );
    expect(existsSync(`${file}-wal`)).toBe(true);
    await using look = openSqliteStore(file, { readOnly: true });
    expect(await look.check(), `byte ${at}`).toContainEqual(expect.stringContaining("move"));
  }
});

test("R3: what a power cut leaves of the last commit is no damage", async () => {
  const random = seededRandom(18);
  const [synced, end] = [ends.at(-2) as number, ends.at(-1) as number];
  for (let no = 0; no < 200; no++) {
    const torn = tear(image.wal.subarray(0, end), synced, random);
    await using store = openSqliteStore(laidDown({ ...image, wal: torn }));
    expect((await store.runs()).length).toBeGreaterThanOrEqual(COMMITS - 1);
  }
});

/** Ways in which the files of a store can be damaged. */
import type { Random } from "../../src/effects/random.ts";
import type { Image } from "../../src/simulate/drive/image.ts";

export { type Image, layDown, takeImage } from "../../src/simulate/drive/image.ts";

const PAGE = 4_096;
const FRAME = PAGE + 24;
const WAL_HEADER = 32;
const SECTOR = 512;

const below = (random: Random, most: number): number => Math.floor(random.next() * most);

/** What a power cut leaves of a log that was being written: everything up to `synced`, and of the rest whichever parts made it. */
export function tear(wal: Buffer, synced: number, random: Random): Buffer {
  const torn = Buffer.from(
    wal.subarray(0, random.next() < 0.5 ? wal.length : synced + below(random, wal.length - synced)),
  );
  for (let at = synced; at < torn.length; at += SECTOR) {
    const end = Math.min(at + SECTOR, torn.length);
    const fate = random.next();
    if (fate < 0.15) torn.fill(0, at, end);
    else if (fate < 0.25) for (let each = at; each < end; each++) torn[each] = below(random, 256);
  }
  return torn;
}

/** Some pages of `after`, the others as they were before: what a power cut leaves while the log is being folded back. */
export function mixPages(before: Buffer, after: Buffer, random: Random): Buffer {
  const mixed = Buffer.from(after.subarray(0, random.next() < 0.5 ? after.length : Math.max(before.length, PAGE)));
  for (let at = 0; at < mixed.length; at += PAGE) {
    if (random.next() < 0.5 && at + PAGE <= before.length) before.copy(mixed, at, at, at + PAGE);
  }
  return mixed;
}

/** One way in which a file can be damaged. */
export interface Damage {
  readonly name: string;
  readonly of: (image: Image, random: Random) => Image;
}

const inDb =
  (change: (db: Buffer, random: Random) => Buffer | undefined): Damage["of"] =>
  (image, random) => {
    const copy = Buffer.from(image.db);
    return { ...image, db: change(copy, random) ?? copy };
  };
const inWal =
  (change: (wal: Buffer, random: Random) => Buffer | undefined): Damage["of"] =>
  (image, random) => {
    const copy = Buffer.from(image.wal);
    return { ...image, wal: copy.length === 0 ? copy : (change(copy, random) ?? copy) };
  };
function flip(buffer: Buffer, random: Random, from = 0): undefined {
  const at = from + below(random, buffer.length - from);
  buffer[at] = (buffer[at] as number) ^ (1 << below(random, 8));
}
function scribble(buffer: Buffer, random: Random): undefined {
  const at = below(random, buffer.length);
  for (let each = at; each < Math.min(buffer.length, at + 1 + below(random, 64)); each++)
    buffer[each] = below(random, 256);
}
function swap(buffer: Buffer, size: number, from: number, random: Random): undefined {
  const units = Math.floor((buffer.length - from) / size);
  if (units < 2) return;
  const one = from + below(random, units) * size;
  const other = from + below(random, units) * size;
  const kept = Buffer.from(buffer.subarray(one, one + size));
  buffer.copy(buffer, one, other, other + size);
  kept.copy(buffer, other);
}

export const DAMAGES: readonly Damage[] = [
  { name: "a bit of the database flipped", of: inDb((db, random) => flip(db, random)) },
  { name: "some bytes of the database overwritten", of: inDb(scribble) },
  {
    name: "text of the database changed into other text",
    of: inDb((db, random) => {
      // Letters and digits only: what is still valid JSON, and looks right.
      for (let tries = 0; tries < 100; tries++) {
        const at = below(random, db.length);
        const byte = db[at] as number;
        if (byte < 0x30 || byte > 0x7a) continue;
        db[at] = byte === 0x39 || byte === 0x7a ? byte - 1 : byte + 1;
        return;
      }
    }),
  },
  { name: "the database cut", of: inDb((db, random) => db.subarray(0, below(random, db.length))) },
  {
    name: "a page of the database zeroed",
    of: inDb((db, random) => {
      const at = below(random, db.length / PAGE) * PAGE;
      db.fill(0, at, at + PAGE);
    }),
  },
  { name: "two pages of the database swapped", of: inDb((db, random) => swap(db, PAGE, 0, random)) },
  { name: "a bit of the log flipped", of: inWal((wal, random) => flip(wal, random)) },
  { name: "the salt of the log changed", of: inWal((wal, random) => flip(wal.subarray(16, 24), random)) },
  { name: "the log cut", of: inWal((wal, random) => wal.subarray(0, below(random, wal.length))) },
  { name: "two frames of the log swapped", of: inWal((wal, random) => swap(wal, FRAME, WAL_HEADER, random)) },
  { name: "the log gone", of: (image) => ({ ...image, wal: Buffer.alloc(0) }) },
];

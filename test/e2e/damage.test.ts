/**
 * State directories with a history, damaged in every way the rig knows (R10): every command ends with the right answer, or with a code and a
 * sentence. None hangs, none shows a stack, none calls a damaged store whole. `DAMAGE=1000` tries more.
 */
import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { seededRandom } from "../../src/effects/random.ts";
import { rota, type Said } from "../rig/cli.ts";
import { DAMAGES, type Image, layDown, takeImage } from "../rig/images.ts";
import { openPlace, type Place, until } from "../rig/rota.ts";

const SEED = Number(process.env["SEED"] ?? 17);
const CASES = Number(process.env["DAMAGE"] ?? 66);
const PROGRAMS = Math.max(1, Math.round(CASES / 16));
/** Whatever a command does, it does it within this. */
const HANG_MS = 60_000;

const root = mkdtempSync(join(tmpdir(), "rota-damaged-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const tasks = (count: number, command: string) =>
  Object.fromEntries(
    Array.from({ length: count }, (_, no) => [`t${no}`, { run: command, ...(no > 2 && { needs: [`t${no - 3}`] }) }]),
  );

const LAST = { run: "touch middle; sleep 5", needs: ["t3", "t4", "t5"] };
let place: Place;
let image: Image;
beforeAll(async () => {
  place = openPlace();
  place.file("done.json", JSON.stringify({ name: "done", tasks: tasks(12, "true") }));
  place.file("cut.json", JSON.stringify({ name: "cut", tasks: { ...tasks(6, "true"), last: LAST } }));
  expect((await place.rota(["run", "done.json", "--state", "state"])).code).toBe(0);
  const { child, ended } = place.start(["run", "cut.json", "--state", "state"]);
  await until("the second run is in the middle", () => existsSync(join(place.dir, "middle")));
  child.kill("SIGKILL");
  await ended;
  image = takeImage(join(place.dir, "state", "rota.db"));
}, 240_000);
afterAll(() => place[Symbol.dispose]());

/** A copy of the directory with this store in it. */
function damagedCopy(no: number, damaged: Image): string {
  const dir = join(root, String(no));
  cpSync(join(place.dir, "done.json"), join(dir, "done.json"));
  cpSync(join(place.dir, "cut.json"), join(dir, "cut.json"));
  layDown(join(dir, "state", "rota.db"), damaged);
  return dir;
}

const LOOKS: readonly (readonly string[])[] = [
  ["events", "--json"],
  ["status", "--all", "--json"],
  ["why", "t5", "--json"],
  ["timeline", "--json"],
];
const DAMAGED = /^(?:STORE_CORRUPT|STATE_UNUSABLE|STORE_NEWER|STATE_MISSING|STORE_FAILED|RUN_UNKNOWN): [^\n]+\(/m;

const within = <T>(work: Promise<T>, what: string): Promise<T> =>
  Promise.race([
    work,
    new Promise<never>((_, fail) => setTimeout(() => fail(new Error(`${what} hangs`)), HANG_MS).unref()),
  ]);

/** What is said is right, or it is said that it cannot be. */
function expectHonest({ code, out, err }: Said, truth: Said, what: string): "right" | "refused" {
  expect(err, what).not.toMatch(/internal error|\n\s+at /);
  if (code === 2) {
    expect(err, what).toMatch(DAMAGED);
    expect(out, what).toBe("");
    return "refused";
  }
  expect({ code, out: timeless(out) }, what).toEqual({ code: truth.code, out: timeless(truth.out) });
  return "right";
}
/** Where and when it was looked at, and how long something has been going on, is another answer every time. What happened when is not. */
const timeless = (text: string): string =>
  text.startsWith('{"seq"')
    ? text
    : text
        .replaceAll(/rota-damaged-\w+\/\d+/g, "")
        .replaceAll(/"[\w-]+T[\d:.]+Z"/g, '""')
        .replaceAll(/ [\dhms.]+ ago/g, " ago")
        .replaceAll(/"(\w*_ms|end)":[\d.]+/g, '"$1":0');

describe(`a damaged state directory (SEED=${SEED})`, () => {
  test(
    `is shown as it is, or not at all (${CASES} damages)`,
    async () => {
      const random = seededRandom(SEED);
      const sound = damagedCopy(0, image);
      const look = (dir: string, args: readonly string[]) =>
        within(rota([...args, "--state", "state"], { cwd: dir }), args.join(" "));
      const truths = await Promise.all(LOOKS.map((args) => look(sound, args)));
      const counts = { right: 0, refused: 0 };
      for (let no = 1; no <= CASES; no++) {
        const { name, of } = DAMAGES[no % DAMAGES.length] as (typeof DAMAGES)[number];
        // A log that lost its end is an older state, which is not wrong: only what is refused, and how, can be held against it.
        if (name.includes("log")) continue;
        const dir = damagedCopy(no, of(image, random));
        const found: string[] = [];
        for (const [index, args] of LOOKS.entries()) {
          const said = await look(dir, args);
          found.push(expectHonest(said, truths[index] as Said, `damage ${no} (${name}): ${args.join(" ")}`));
        }
        const doctor = await look(dir, ["doctor"]);
        expect(doctor.err, name).not.toMatch(/internal error/);
        if (found.includes("refused")) expect(doctor.code, `damage ${no} (${name}): ${doctor.out}`).toBe(1);
        for (const each of found) counts[each as keyof typeof counts]++;
        rmSync(dir, { recursive: true, force: true });
      }
      expect(counts.right).toBeGreaterThan(0);
      expect(counts.refused).toBeGreaterThan(0);
      if (process.env["DAMAGE"] !== undefined)
        process.stderr.write(`looks at damaged directories: ${JSON.stringify(counts)}\n`);
    },
    60_000 + CASES * 1_000,
  );

  test(`is gone on with, or left alone (${PROGRAMS} damages)`, async () => {
    const random = seededRandom(SEED + 1);
    for (let no = 0; no < PROGRAMS; no++) {
      const { name, of } = DAMAGES[(no * 2) % DAMAGES.length] as (typeof DAMAGES)[number];
      const damaged = of(image, random);
      const dir = damagedCopy(10_000 + no, damaged);
      using there = openPlace();
      cpSync(dir, there.dir, { recursive: true });
      const { child, ended, out, err } = there.start(["serve", "--json", "--state", "state"]);
      await within(
        until("it serves or has ended", () => out().includes("\n") || child.exitCode !== null, HANG_MS),
        `${name}: serve`,
      );
      if (child.exitCode === null) child.kill("SIGTERM");
      const end = await within(ended, `${name}: the end of serve`);
      expect(err(), name).not.toMatch(/internal error|\n\s+at /);
      if (end.code !== 0) expect(end, name).toMatchObject({ code: 2, err: expect.stringMatching(DAMAGED) });
    }
  });
});

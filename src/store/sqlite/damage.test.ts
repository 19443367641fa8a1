/**
 * Files that were damaged from outside (R10): a question is answered rightly or refused with a code, and never wrongly.
 * `DAMAGE=10000 SEED=3` tries more.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { DAMAGES, type Image, layDown, takeImage } from "../../../test/rig/images.ts";
import { always } from "../../../test/rig/property.ts";
import { BEFORE_PRUNE, perform, portrait, portraits, STEPS } from "../../../test/rig/verbs.ts";
import { seededRandom } from "../../effects/random.ts";
import { openSqliteStore } from "./store.ts";
import { sumOf } from "./sums/sums.ts";

const SEED = Number(process.env["SEED"] ?? 17);
const CASES = Number(process.env["DAMAGE"] ?? 220);
/** The codes with which a damaged file may be refused. */
const REFUSALS = ["STORE_CORRUPT", "STATE_UNUSABLE", "STORE_NEWER", "STORE_FAILED"];

const root = mkdtempSync(join(tmpdir(), "rota-damage-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(root, `${++files}`, "rota.db");

let seen: readonly string[] = [];
/** Images of the files: with a log, without one, and early ones. */
let open: Image;
let closed: Image;
let early: Image;
/** An image from before anything was forgotten. */
let old: Image;
beforeAll(async () => {
  seen = await portraits(() => openSqliteStore(":memory:"));
  const file = newFile();
  {
    await using store = openSqliteStore(file);
    await perform(store, (done) => {
      if (done === 7) early = takeImage(file);
      if (done === BEFORE_PRUNE) old = takeImage(file);
    });
    open = takeImage(file);
  }
  closed = takeImage(file);
});

/** Whether the answer is right, refused with a code, or what is wrong with it. */
async function answerOf(image: Image, readOnly: boolean, file: string): Promise<string> {
  layDown(file, image);
  try {
    await using store = openSqliteStore(file, { readOnly });
    const found = await portrait(store);
    const step = seen.lastIndexOf(found);
    return step < 0 ? "a wrong answer" : `as after step ${step}`;
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    return code !== undefined && REFUSALS.includes(code) ? code : `threw ${code}: ${message}`;
  }
}

const isRight = (answer: string): boolean => REFUSALS.includes(answer) || answer === `as after step ${STEPS.length}`;
/** A log that lost its end looks like a power failure: an older state, whole, and without visible damage. */
const isOlder = (answer: string): boolean => isRight(answer) || answer.startsWith("as after step");

describe(`a damaged file (SEED=${SEED})`, () => {
  test.each(DAMAGES.map(({ name, of }) => [name, of] as const))(
    "with %s is read rightly or refused",
    async (name, of) => {
      const random = seededRandom(SEED);
      const ofLog = name.includes("log");
      const file = newFile();
      const answers = new Map<string, number>();
      for (let no = 0; no < CASES / DAMAGES.length; no++) {
        const image = of(ofLog || random.next() < 0.3 ? open : closed, random);
        const answer = await answerOf(image, no % 2 === 0, file);
        expect(ofLog ? isOlder(answer) : isRight(answer), `case ${no}: ${answer}`).toBe(true);
        answers.set(answer, (answers.get(answer) ?? 0) + 1);
      }
      if (process.env["DAMAGE"] !== undefined) process.stderr.write(`${name}: ${JSON.stringify([...answers])}\n`);
    },
  );

  test("with the log of an earlier time is read rightly or refused", async () => {
    const file = newFile();
    for (const later of [closed, open]) {
      const answer = await answerOf({ ...later, wal: early.wal }, false, file);
      expect(isOlder(answer), answer).toBe(true);
    }
    // The other way round: the later log on the earlier database is the later state.
    expect(isOlder(await answerOf({ ...open, db: early.db }, false, file))).toBe(true);
  });

  test.each([
    ["page", "another kind of event", "update page set events = replace(events, 'failed', 'parked')"],
    ["task", "a task that succeeded", "update task set state = 'cancelled' where run = 1 and no = 0"],
    ["task", "a task that is older than it was", "update task set version = version - 1 where run = 2 and no = 5"],
    ["task", "a task that is gone", "delete from task where run = 2 and no = 7"],
    [
      "task_spec",
      "another command",
      `update task_spec set spec = replace(spec, 'true', 'tame') where run = 2 and no = 1`,
    ],
    ["task_spec", "a task that was never planned", "delete from task_spec where run = 2 and no = 39"],
    ["page", "a page that is gone", "delete from page where first = (select min(first) from page)"],
    ["page", "the last page gone", "delete from page where first = (select max(first) from page)"],
    ["page", "a page beside a forgotten one gone", "delete from page where first = 109"],
    [
      "page",
      "a page that has moved",
      "update page set first = first - 1, last = last - 1 where first = (select max(first) from page)",
    ],
    ["forgotten", "a range that is gone", "delete from forgotten where first = 107"],
    ["forgotten", "a range that is wider than it was", "update forgotten set last = last + 1"],
    ["run", "another plan", "update run set name = 'other' where no = 2"],
    ["session", "another session", "update session set losses = 0"],
    ["pause", "another reason", "update pause set body = replace(body, 'enough', 'plenty')"],
    ["request", "another wish", "update request set body = replace(body, 'requeue', 'approve')"],
    ["ownership", "an epoch of the past", "update ownership set epoch = 1"],
    ["seal", "a seal that is gone", "delete from seal where run = 1"],
  ])("is not believed about its %s, and the check says where: %s", async (table, _, change) => {
    const file = newFile();
    layDown(file, closed);
    {
      using db = new DatabaseSync(file);
      db.exec(change);
    }
    expect(await answerOf(takeImage(file), true, newFile())).toBe("STORE_CORRUPT");
    await using store = openSqliteStore(file, { readOnly: true });
    const found = await store.check();
    expect(found).not.toEqual([]);
    expect(found.join("\n")).toMatch(table === "task_spec" || table === "seal" ? /task_spec|tasks|seal/ : /./);
  });
});

test("an event that was forgotten and came back in place of another is noticed, although there are as many as before", async () => {
  const [file, before] = [newFile(), newFile()];
  layDown(file, closed);
  layDown(before, old);
  {
    using db = new DatabaseSync(file);
    db.exec(`attach '${before}' as before; insert into main.page select * from before.page where first = 107`);
    db.exec("delete from main.page where first = 109");
  }
  await using store = openSqliteStore(file, { readOnly: true });
  expect(await store.check()).toContain("events of the ledger that were forgotten are there");
});

describe("the checksum of a row", () => {
  const value = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double(),
    fc.constant(null),
  );
  const row = fc.array(value, { minLength: 1, maxLength: 8 });

  test("differs when one value differs", () =>
    always(
      2_000,
      fc.property(row, fc.nat(), value, (values, at, other) => {
        const index = at % values.length;
        const same = Object.is(values[index], other) || String(values[index]) === String(other);
        fc.pre(!same && JSON.stringify(values[index]) !== JSON.stringify(other));
        expect(sumOf("run", ...values)).not.toBe(sumOf("run", ...values.with(index, other)));
      }),
    ));

  test("differs when text goes over from one column into the next, and from table to table", () => {
    expect(sumOf("run", "ab", "c")).not.toBe(sumOf("run", "a", "bc"));
    expect(sumOf("run", "a")).not.toBe(sumOf("pause", "a"));
    expect(sumOf("run", null)).not.toBe(sumOf("run", ""));
    expect(sumOf("run", 0)).not.toBe(sumOf("run", null));
  });

  test("is the same for text that came back from the database as it was written", () =>
    always(
      300,
      fc.property(fc.string({ unit: "binary" }), (text) => {
        using db = new DatabaseSync(":memory:");
        const { back } = db.prepare("select ? as back").get(text) as { back: string };
        expect(sumOf("pause", back)).toBe(sumOf("pause", text));
      }),
    ));
});

/**
 * The process dies, or the disk fails, at the N-th call that changes a file, for every verb of the store and for the migration (R1, R4, R16,
 * S1, S15). Here a sample of N is tried; `CRASH=all npx vitest run test/e2e/crash-points` tries every one.
 */
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { replayAll } from "../../src/store/replay.ts";
import { migrate, migrationsIn, userVersion } from "../../src/store/sqlite/migrate.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { audit } from "../../src/store/sqlite/sums/audit.ts";
import {
  ALL,
  CALLS,
  type Call,
  canInject,
  countCalls,
  each,
  type Fault,
  inject,
  nameOf,
  sample,
  type Traced,
  WITHOUT_STRACE,
} from "../rig/strace.ts";
import { perform, portrait, portraits, STEPS } from "../rig/verbs.ts";

const MAIN = fileURLToPath(new URL("../rig/verbs-main.ts", import.meta.url));
const MIGRATE = fileURLToPath(new URL("../rig/migrate-main.ts", import.meta.url));
/** More than a page of it, so that it takes several writes. */
const NOTES = `-- breaking
create table note (no integer primary key, text text not null) strict;
insert into note (text) values (hex(zeroblob(20000)));
`;
const HAS_NOTES = "select 1 from sqlite_schema where name = 'note'";
const NODE = [process.execPath, "--disable-warning=ExperimentalWarning"];
/** Calls are counted for each thread by itself: so there is only one for those that go on beside everything else. */
const env = { ...process.env, UV_THREADPOOL_SIZE: "1" };
const AT_ONCE = 2;
/** So many points of each call are tried in the suite. */
const SAMPLED: Readonly<Record<Call, number>> = {
  write: 2,
  pwrite64: 14,
  fsync: 6,
  fdatasync: 4,
  rename: 1,
  ftruncate: 1,
  link: 1,
  unlink: 2,
};

const root = mkdtempSync(join(tmpdir(), "rota-crash-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(root, `${++files}`, "rota.db");

let seen: readonly string[] = [];
/** Which thread commits: the main thread, or a thread of its own. And commits that are synced later, beside other work. */
const WAYS = ["inline", "aside", "normal"] as const;
type Way = (typeof WAYS)[number];
const counts = new Map<Way, Readonly<Record<Call, number>>>();
beforeAll(async () => {
  if (!canInject()) return;
  seen = await portraits(() => openSqliteStore(":memory:"));
  for (const way of WAYS) counts.set(way, await countCalls({ argv: [...NODE, MAIN, newFile(), "0", way], env }));
});

const pointsOf = (
  way: Way,
  calls: readonly Call[],
  faults: (call: Call, at: number) => readonly Fault[],
  share = 1,
): Fault[] =>
  calls.flatMap((call) =>
    sample(counts.get(way)?.[call] ?? 0, ALL ? Number.POSITIVE_INFINITY : Math.ceil(SAMPLED[call] * share)).flatMap(
      (at) => faults(call, at),
    ),
  );

/** How many steps it has answered. */
const acknowledged = ({ out }: Traced): number => Number(out.match(/^\d+/gm)?.at(-1) ?? 0);

describe.skipIf(!canInject())(`at the N-th call that changes a file${WITHOUT_STRACE}`, () => {
  test("only what need not be on the disk before it is answered is synced beside everything else", () => {
    expect(WAYS.filter((way) => (counts.get(way)?.fdatasync ?? 0) > 0)).toEqual(["normal"]);
    expect(counts.get("normal")?.fdatasync).toBe(STEPS.length);
  });

  test.each(WAYS)(
    "a store that was killed there has everything it had answered, and goes on (%s)",
    async (way) => {
      const points = pointsOf(way, CALLS, (call, at) => [{ call, how: "SIGKILL", at }]);
      await each(points, AT_ONCE, async (fault) => {
        const file = newFile();
        const end = await inject(fault, { argv: [...NODE, MAIN, file, "0", way], env });
        await expectWhole(file, end, fault);
      });
      report("killed", points);
    },
    LIMIT,
  );

  test.each(WAYS)(
    "a store whose disk is full or fails there answers nothing that it has not kept, and goes on when the disk is well again (%s)",
    async (way) => {
      const both = (call: Call, at: number): Fault[] => [
        { call, how: "ENOSPC", at },
        { call, how: "EIO", at, lasting: true },
      ];
      const points = pointsOf(way, ["pwrite64", "fsync", "fdatasync", "ftruncate"], both, 0.4);
      await each(points, AT_ONCE, async (fault) => {
        const file = newFile();
        const end = await inject(fault, { argv: [...NODE, MAIN, file, "0", way], env });
        if (end.code !== 0) expect(end.err, nameOf(fault)).toMatch(/STORE_FAILED|STATE_UNUSABLE/);
        await expectWhole(file, end, fault);
      });
      report("failed", points);
    },
    LIMIT,
  );

  test.each(WAYS)(
    "S15: after one failed fsync nothing more is answered, although the next one would succeed (%s)",
    async (way) => {
      const points = pointsOf(way, ["fsync", "fdatasync"], (call, at) => [{ call, how: "EIO", at }], 0.5);
      await each(points, AT_ONCE, async (fault) => {
        const file = newFile();
        const end = await inject(fault, { argv: [...NODE, MAIN, file, "0", way, "stubborn"], env });
        const answers = end.out.trim().split("\n");
        const failed = answers.findIndex((line) => line.startsWith("failed"));
        // Those are commits and nothing else.
        if (fault.call === "fdatasync") expect(failed, nameOf(fault)).toBeGreaterThanOrEqual(0);
        // What is not about a commit (opening, folding the log back) may fail and be done again.
        if (failed >= 0)
          expect(
            answers.slice(failed).filter((line) => /^\d/.test(line)),
            nameOf(fault),
          ).toEqual([]);
        await expectWhole(file, end, fault);
      });
      report("fsync failed once", points);
    },
    LIMIT,
  );

  test(
    "R16: a migration that was killed there has not been, or is done",
    async () => {
      const folder = join(root, "migrations");
      cpSync(new URL("../../src/store/sqlite/migrations/", import.meta.url), folder, { recursive: true });
      writeFileSync(join(folder, "0002_notes.sql"), NOTES);
      const old = newFile();
      {
        await using store = openSqliteStore(old);
        await perform(store, () => {});
      }
      const argvOf = (file: string): string[] => [...NODE, MIGRATE, file, folder];
      const copied = (): string => {
        const file = newFile();
        cpSync(dirname(old), dirname(file), { recursive: true });
        return file;
      };
      const needed = await countCalls({ argv: argvOf(copied()) });
      const points = CALLS.flatMap((call) =>
        sample(needed[call], ALL ? Number.POSITIVE_INFINITY : Math.ceil(SAMPLED[call] * 0.5)).flatMap((at): Fault[] => [
          { call, how: "SIGKILL", at },
          ...(ALL && call !== "write" ? [{ call, how: "EIO", at } as const] : []),
        ]),
      );
      await each(points, AT_ONCE, async (fault) => {
        const file = copied();
        await inject(fault, { argv: argvOf(file) });
        using db = new DatabaseSync(file);
        const [version, notes] = [userVersion(db), db.prepare(HAS_NOTES).all().length];
        expect([version, notes], nameOf(fault)).toEqual(version === 2 ? [2, 1] : [1, 0]);
        expect([...audit(db)], nameOf(fault)).toEqual([]);
        migrate(db, file, migrationsIn(pathToFileURL(`${folder}/`)));
        expect(db.prepare(HAS_NOTES).all(), nameOf(fault)).toHaveLength(1);
      });
      report("migrated", points);
    },
    LIMIT,
  );
});

const LIMIT = ALL ? 3_600_000 : 240_000;

/** It is as it was before the step in which it was cut off, or after it; nothing in it is wrong; and the rest can be done. */
async function expectWhole(file: string, end: Traced, fault: Fault): Promise<void> {
  const point = nameOf(fault);
  const answered = acknowledged(end);
  await using store = openSqliteStore(file);
  const found = await portrait(store);
  const at = found === seen[answered] ? answered : answered + 1;
  expect(
    found === seen[at],
    `${point}: ${answered} steps were answered, of which the last was "${STEPS[answered - 1]}"`,
  ).toBe(true);
  expect(await store.check(), point).toEqual([]);
  expect(await replayAll(store), point).toEqual([]);
  await perform(store, () => {}, at);
  expect(await portrait(store), point).toBe(seen.at(-1));
}

/** The points that were tried, for the reader of a full run. */
function report(what: string, points: readonly Fault[]): void {
  expect(points.length).toBeGreaterThan(0);
  if (!ALL) return;
  const byCall = CALLS.map((call) => `${call} ${points.filter((point) => point.call === call).length}`).join(", ");
  process.stderr.write(`${what}: ${points.length} points (${byCall})\n`);
}

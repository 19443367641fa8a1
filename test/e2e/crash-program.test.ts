/**
 * The whole program dies at the N-th call that changes a file (R1). Here a few N are tried; `CRASH=all npx vitest run test/e2e/crash-program` tries
 * every one.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { callUntilDead, expectKept } from "../rig/answered.ts";
import { serveIn, stop } from "../rig/daemon.ts";
import { jsonLines, lastJson, openPlace, type Place } from "../rig/rota.ts";
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
  WITHOUT_STRACE,
} from "../rig/strace.ts";

const LIMIT = ALL ? 3_600_000 : 240_000;
const ENTRY = fileURLToPath(new URL("../../dist/cli/main.cjs", import.meta.url));
const NODE = [process.execPath, "--disable-warning=ExperimentalWarning", ENTRY];
const TASKS = 8;

const plan = JSON.stringify({
  name: "points",
  tasks: Object.fromEntries(
    Array.from({ length: TASKS }, (_, no) => [
      `t${no}`,
      { run: `echo t${no} >> trace`, ...(no >= 2 && { needs: [`t${no - 2}`] }) },
    ]),
  ),
});

/** Only the scheduler itself is meant: what it started goes on, as it would. */
const program = (place: Place, args: readonly string[]) => ({
  argv: [...NODE, ...args],
  cwd: place.dir,
  env: { ...process.env, NO_COLOR: "1" },
  follow: false,
});

describe.skipIf(!canInject())(`the program, at the N-th call that changes a file${WITHOUT_STRACE}`, () => {
  test(
    "`rota run` that was killed there goes on with --resume, and every task has run once",
    async () => {
      const run = ["run", "plan.json", "--resume", "--workers", "2", "--json"];
      const counts = await counted(run);
      const points = pointsOf(counts, { write: 1, pwrite64: 4, fsync: 3, ftruncate: 0, unlink: 1 });
      await each(points, 2, async (fault) => {
        using place = openPlace();
        place.file("plan.json", plan);
        await inject(fault, program(place, run));
        const end = await place.rota(run);
        expect({ code: end.code, err: end.err }, nameOf(fault)).toEqual({ code: 0, err: "" });
        expect(lastJson(end), nameOf(fault)).toMatchObject({ outcome: "succeeded", tasks: { succeeded: TASKS } });
        await expectOnce(place, nameOf(fault));
      });
      if (ALL) process.stderr.write(`run: ${points.length} points\n`);
    },
    LIMIT,
  );

  test(
    "`rota serve` that was killed there has whatever it had answered",
    async () => {
      const most = ALL ? 120 : 3;
      const points = (["pwrite64", "fsync"] as const).flatMap((call) =>
        Array.from({ length: most }, (_, no): Fault => ({ call, how: "SIGKILL", at: ALL ? no + 1 : 12 + no * 9 })),
      );
      let answers = 0;
      await each(points, 2, async (fault) => {
        using place = openPlace();
        const dead = inject(fault, program(place, ["serve", "--json", "--state", "state"]));
        const answered = await callUntilDead(place, dead);
        answers += answered.runs.size + answered.grants.length + answered.completed.size;
        const again = await serveIn(place);
        await expectKept(again.client, place, answered, nameOf(fault));
        await stop(again);
        const doctor = await place.rota(["doctor", "--state", "state"]);
        expect(doctor.code, `${nameOf(fault)}: ${doctor.out}`).toBe(0);
      });
      expect(answers).toBeGreaterThan(0);
      if (ALL) process.stderr.write(`serve: ${points.length} points, ${answers} answers\n`);
    },
    LIMIT,
  );
});

async function counted(args: readonly string[]): Promise<Readonly<Record<Call, number>>> {
  using place = openPlace();
  place.file("plan.json", plan);
  return await countCalls(program(place, args));
}

const pointsOf = (counts: Readonly<Record<Call, number>>, most: Partial<Record<Call, number>>): Fault[] =>
  CALLS.flatMap((call) =>
    sample(counts[call], ALL ? Number.POSITIVE_INFINITY : (most[call] ?? 0)).map(
      (at): Fault => ({ call, how: "SIGKILL", at }),
    ),
  );

async function expectOnce(place: Place, what: string): Promise<void> {
  const trace = readFileSync(join(place.dir, "trace"), "utf8").trim().split("\n").sort();
  expect(trace, what).toEqual(Array.from({ length: TASKS }, (_, no) => `t${no}`).sort());
  const events = jsonLines<{ seq: number; kind: string; task?: string }>(await place.rota(["events", "--json"]));
  expect(
    events.map(({ seq }) => seq),
    what,
  ).toEqual(events.map((_, index) => index + 1));
  expect(events.filter(({ kind }) => kind === "succeeded").length, what).toBe(TASKS);
  const doctor = await place.rota(["doctor"]);
  expect(doctor.code, `${what}: ${doctor.out}`).toBe(0);
}

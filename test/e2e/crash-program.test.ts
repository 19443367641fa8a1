/**
 * The whole program dies at the N-th call that changes a file (R1). Here a few N are tried; `CRASH=all npx vitest run test/e2e/crash-program` tries
 * every one.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import type { Grant } from "../../src/wire/answers.ts";
import { type Client, connect } from "../../src/wire/client.ts";
import { answers, serveIn, stop, submitted } from "../rig/daemon.ts";
import { jsonLines, lastJson, openPlace, type Place, until } from "../rig/rota.ts";
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

/** What the daemon said before it died. */
interface Answered {
  readonly runs: Map<string, string>;
  readonly grants: Grant[];
  readonly completed: Set<string>;
}

async function callUntilDead(place: Place, dead: Promise<unknown>): Promise<Answered> {
  const answered: Answered = { runs: new Map(), grants: [], completed: new Set() };
  let isDead = false;
  const died = dead.then(() => {
    isDead = true;
  });
  const client = connect({ state: join(place.dir, "state") }, { by: "test" });
  await until("it serves or has died", async () => isDead || (await answers(client)));
  try {
    await client.join({ agent: "agents", session: "s1", slots: 50, ttlMs: 600_000 });
    for (let no = 0; !isDead && no < 60; no++) await oneRound(client, place, no, answered);
    // It makes fewer calls than that: then it dies after the last one.
    if (!isDead) process.kill((await client.info()).pid, "SIGKILL");
  } catch (error) {
    // The call that was cut off was not answered; whether it was done is what the next one must be able to tell.
    expect((error as { code?: string }).code).toMatch(/DAEMON|ECONN|EPIPE/);
  }
  client.close();
  await died;
  return answered;
}

async function oneRound(
  client: Client,
  place: Place,
  no: number,
  { runs, grants, completed }: Answered,
): Promise<void> {
  const { run } = await submitted(
    client,
    place,
    { name: `p${no}`, tasks: { a: { prompt: "x", pool: "agents" } } },
    `k${no}`,
  );
  runs.set(`k${no}`, run);
  const grant = await client.claim({ session: "s1", waitMs: 5_000, key: `c${no}` });
  if (grant === undefined) return;
  grants.push(grant);
  await client.complete({ run: grant.run, task: grant.task, fence: grant.fence, token: grant.token });
  completed.add(grant.run);
}

async function expectKept(
  client: Client,
  place: Place,
  { runs, grants, completed }: Answered,
  what: string,
): Promise<void> {
  const known = new Map((await client.runs()).map((each) => [each.run, each]));
  for (const [key, run] of runs) {
    expect(known.has(run), `${what}: ${run} was answered`).toBe(true);
    const again = await submitted(
      client,
      place,
      { name: `p${key.slice(1)}`, tasks: { a: { prompt: "x", pool: "agents" } } },
      key,
    );
    expect(again.run, `${what}: the same key is the same run`).toBe(run);
  }
  for (const { run, task, fence, token } of grants) {
    const said = await client.complete({ run, task, fence, token });
    expect(said, `${what}: ${run}`).toMatchObject({ state: "succeeded" });
  }
  for (const run of completed) expect(known.get(run), what).toMatchObject({ state: "finished", outcome: "succeeded" });
}

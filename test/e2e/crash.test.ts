/** The scheduler is killed at random instants, again and again. Nothing is lost, nothing runs twice, nothing is left behind. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { seededRandom } from "../../src/effects/random.ts";
import { expectLawsKept } from "../rig/laws-kept.ts";
import { jsonLines, lastJson, openPlace, type Place, processesWith } from "../rig/rota.ts";

const SEED = Number(process.env["SEED"] ?? 17);
const KILLS = Number(process.env["KILLS"] ?? 50);
const TASKS = 200;

interface LedgerEvent {
  readonly seq: number;
  readonly kind: string;
  readonly run?: string;
  readonly task?: string;
}

test.each([
  ["in layers", layeredPlan],
  ["one after the other", chainedPlan],
])(`after ${KILLS} kills of 200 tasks %s every one has ended once and ran once (SEED=${SEED})`, async (_, plan) => {
  const random = seededRandom(SEED);
  let kills = 0;
  while (kills < KILLS) {
    using place = openPlace();
    place.file("plan.json", plan());
    kills += await runUnderFire(place, () => 20 + random.next() * 400, KILLS - kills);
    await expectWholeHistory(place);
  }
});

/** Twenty tasks a layer, each after two of the layer before; each says when it starts and when it ends. */
function layeredPlan(): string {
  const tasks: Record<string, unknown> = {};
  for (let no = 0; no < TASKS; no++) {
    const layer = Math.floor(no / 20);
    const needs = layer === 0 ? [] : [`t${(layer - 1) * 20 + (no % 20)}`, `t${(layer - 1) * 20 + ((no + 7) % 20)}`];
    const seconds = (0.01 + (no % 5) * 0.02).toFixed(2);
    tasks[`t${no}`] = { run: `echo "start t${no}" >> trace; sleep ${seconds}; echo "end t${no}" >> trace`, needs };
  }
  return JSON.stringify({ name: "fire", tasks });
}

/** Each task is so short that the next one begins before its start, and before the end of this one, is on the disk. */
function chainedPlan(): string {
  const tasks: Record<string, unknown> = {};
  for (let no = 0; no < TASKS; no++) {
    const needs = no === 0 ? [] : [`t${no - 1}`];
    tasks[`t${no}`] = { run: `echo "start t${no}" >> trace; echo "end t${no}" >> trace`, needs };
  }
  return JSON.stringify({ name: "fire", tasks });
}

/** Starts, kills after a random while, and starts again, until a start ends by itself. Returns how many were killed. */
async function runUnderFire(place: Place, life: () => number, most: number): Promise<number> {
  for (let kills = 0; ; kills++) {
    const { child, ended } = place.start(["run", "plan.json", "--resume", "--workers", "8", "--json"]);
    const kill = kills < most ? setTimeout(() => child.kill("SIGKILL"), life()) : undefined;
    const end = await ended;
    clearTimeout(kill);
    if (end.signal === "SIGKILL") continue;
    expect(end.err).toBe("");
    expect(end.code).toBe(0);
    expect(lastJson(end)).toMatchObject({ outcome: "succeeded", tasks: { total: TASKS, succeeded: TASKS } });
    return kills;
  }
}

async function expectWholeHistory(place: Place): Promise<void> {
  const events = jsonLines<LedgerEvent>(await place.rota(["events", "--json"]));
  // What workers do belongs to no run.
  const runs = new Set(events.flatMap(({ run }) => run ?? []));
  expect(runs.size).toBe(1);
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));

  const succeeded = events.filter(({ kind }) => kind === "succeeded").map(({ task }) => task);
  expect(succeeded).toHaveLength(TASKS);
  expect(new Set(succeeded).size).toBe(TASKS);
  for (const task of succeeded) {
    const kinds = events.filter((event) => event.task === task).map(({ kind }) => kind);
    expect(kinds.at(-1), `the last word on ${task}`).toBe("succeeded");
  }

  // The wrapper of an attempt outlives the scheduler, so even what ran during a kill ran once.
  const trace = readFileSync(join(place.dir, "trace"), "utf8").trim().split("\n").sort();
  const once = Array.from({ length: TASKS }, (_, no) => [`end t${no}`, `start t${no}`])
    .flat()
    .sort();
  const isTwice = ({ task }: LedgerEvent): boolean => trace.filter((line) => line === `start ${task}`).length > 1;
  expect(trace, JSON.stringify(events.filter(isTwice))).toEqual(once);

  for (const run of runs) expect(processesWith(`ROTA_RUN=${run}`)).toEqual([]);
  await expectLawsKept(join(place.dir, ".rota"));
  const doctor = await place.rota(["doctor"]);
  expect(doctor.code, doctor.out + doctor.err).toBe(0);
}

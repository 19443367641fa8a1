import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bringToAnEnd, CAPACITY, type Played, play, scenarios } from "../../test/rig/history.ts";
import { brokenLaws } from "../../test/rig/laws.ts";
import { always } from "../../test/rig/property.ts";
import { replayAll } from "../store/replay.ts";
import { restoreRun } from "../store/rows.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import { taskId } from "./ids.ts";
import { type Run, remaining } from "./run.ts";
import { TASK_STATES, type Task, type TaskState } from "./task.ts";

const RUNS = 300;

describe("whatever happens to a run", () => {
  test("its history keeps the laws: order, needs, gates, capacity, files, budgets, and ends that are ends", async () => {
    await always(
      RUNS,
      fc.asyncProperty(scenarios(), async (scenario) => {
        const { rig, run } = await play(scenario);
        expect(brokenLaws(run, await rig.store.events({}), CAPACITY)).toEqual([]);
      }),
    );
  });

  test("every task is in one state, and the counts say in which", async () => {
    await always(
      RUNS,
      fc.asyncProperty(scenarios(), async (scenario) => {
        await play(scenario, undefined, (run) => expect(run.counts).toEqual(recounted(run)));
      }),
    );
  });

  test("folding its ledger in again gives what the tables say", async () => {
    await always(
      RUNS,
      fc.asyncProperty(scenarios(), async (scenario) => {
        const played = await play(scenario);
        await flushed(played);
        expect(await replayAll(played.rig.store)).toEqual([]);
      }),
    );
  });

  test("the run that is restored from the tables equals the run in memory", async () => {
    await always(
      RUNS,
      fc.asyncProperty(scenarios(), async (scenario) => {
        const played = await play(scenario);
        await flushed(played);
        const { run, rig } = played;
        const stored = await rig.store.load(run.no);
        const restored = stored && restoreRun(stored.row, stored.specs, stored.tasks);
        expect(restored?.tasks.map(seen)).toEqual(run.tasks.map(seen));
        expect(restored?.counts).toEqual(run.counts);
        expect(restored?.status).toEqual(run.status);
        expect(restored?.cancelling).toEqual(run.cancelling);
      }),
    );
  });

  test("it comes to an end when people and machines do their part", async () => {
    await always(
      RUNS,
      fc.asyncProperty(scenarios(30), async (scenario) => {
        const played = await play(scenario);
        await bringToAnEnd(played);
        expect(remaining(played.run)).toBe(0);
        expect(played.run.status.state).toBe("finished");
      }),
    );
  });

  test("the same things in the same order give the same ledger, to the byte", async () => {
    await always(
      RUNS / 2,
      fc.asyncProperty(scenarios(), async (scenario) => {
        const ledger = async () => JSON.stringify(await (await play(scenario)).rig.store.events({}));
        expect(await ledger()).toBe(await ledger());
      }),
    );
  });

  test("a file keeps it as memory does", async () => {
    await always(
      RUNS / 6,
      fc.asyncProperty(scenarios(), async (scenario) => {
        await using store = openSqliteStore(":memory:");
        const inFile = await play(scenario, store);
        const inMemory = await play(scenario);
        for (const played of [inFile, inMemory]) await flushed(played);
        expect(await replayAll(store)).toEqual([]);
        expect(await store.events({})).toEqual(await inMemory.rig.store.events({}));
        expect(await store.load(inFile.run.no)).toEqual(await inMemory.rig.store.load(inFile.run.no));
      }),
    );
  });
});

test("these histories are rich enough to be worth the name: whatever can happen to local work does", async () => {
  const kinds = new Map<string, number>();
  for (const scenario of fc.sample(scenarios(), { numRuns: 300, seed: 1 })) {
    const { rig } = await play(scenario);
    for (const { kind } of await rig.store.events({})) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  }
  expect([...kinds.keys()].sort()).toEqual(EVERY_KIND);
});

const EVERY_KIND = [
  "approved",
  "cancelled",
  "claimed",
  "expired",
  "failed",
  "parked",
  "priority_inherited",
  "priority_inversion",
  "released",
  "requeued",
  "retried",
  "run_cancelling",
  "run_finished",
  "run_reopened",
  "run_stalled",
  "run_submitted",
  "silent",
  "skipped",
  "started",
  "stopping",
  "succeeded",
  "waiting",
];

/** Events that are not urgent are written together with an urgent one, such as the answer to a person. */
const flushed = ({ rig, run }: Played): Promise<void> =>
  rig.ask({ kind: "approve", run: run.manifest.id, task: taskId("absent") });

const seen = ({ spec, ...rest }: Task) => ({ id: spec.id, ...rest });

function recounted({ tasks }: Run): Record<TaskState, number> {
  const counts = Object.fromEntries(TASK_STATES.map((state) => [state, 0])) as Record<TaskState, number>;
  for (const { status } of tasks) counts[status.state]++;
  return counts;
}

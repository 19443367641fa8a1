import { expect, test } from "vitest";
import { owner, task } from "../../test/rig/builders.ts";
import { claimed, FIRST, NOW, Scribe } from "../../test/rig/scribe.ts";
import { PRESSURE_PRESETS } from "../decide/pressure.ts";
import type { Run } from "../domain/run.ts";
import type { Task } from "../domain/task.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import { explainTask } from "./explain-run.ts";
import { loadRun, type Reader } from "./reader.ts";

/** What a look at a store says of a task, whose owner has these limits. */
async function lookAt(tasks: number, limits: object, isScheduled = true) {
  await using store = openMemoryStore();
  const acquired = await store.acquire({ ...owner("rota run"), ...limits }, () => false);
  const scribe = new Scribe();
  scribe.write(scribe.submit(Array.from({ length: tasks }, (_, no) => task(`t${no}`))), 0, claimed);
  await store.commit(scribe.journal.take(acquired.ok ? acquired.value : 0));
  const reader = {
    store,
    now: () => NOW,
    owner: () => store.owner(),
    scheduler: async () => (isScheduled ? store.owner() : undefined),
  } as unknown as Reader;
  const run: Run = await loadRun(reader, { no: FIRST, manifest: scribe.world.run(FIRST)?.manifest as Run["manifest"] });
  return await explainTask(reader, run, run.tasks[1] as Task);
}

test("a task that waits because the queue is full is said to, by whoever only looks", async () => {
  const { wait, gates } = await lookAt(900, { pressure: PRESSURE_PRESETS.strict });
  expect(wait).toMatchObject({ reason: "backpressure" });
  expect(gates).toContainEqual(expect.objectContaining({ gate: "pressure", open: false, queued: 899, depth: 1_000 }));
  expect((await lookAt(900, {})).wait?.reason).not.toBe("backpressure");
});

test("where nobody schedules, nothing is about to start", async () => {
  const { wait, gates } = await lookAt(3, {}, false);
  expect(wait).toMatchObject({ reason: "capacity", workers: 0, idle: 0 });
  expect(gates).toContainEqual(expect.objectContaining({ gate: "workers", open: false, total: 0 }));
  expect((await lookAt(3, {})).wait).not.toMatchObject({ workers: 0 });
});

import { expect, test } from "vitest";
import { owner, task } from "../../../test/rig/builders.ts";
import { asked, claimed, FIRST, LedgerFixture, NOW } from "../../../test/rig/ledger-fixture.ts";
import { PRESSURE_PRESETS } from "../../decide/queue/pressure.ts";
import { runId } from "../../domain/ids.ts";
import { type Run, type RunNo, runNo } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { RunRow } from "../../store/rows.ts";
import { SERVE } from "../requests/owner.ts";
import { explainTask } from "./explain-run.ts";
import { loadRun, type Reader } from "./reader.ts";

/** The explanation of a task from the store alone, whose owner has these limits. */
async function lookAt(tasks: number, limits: object, isScheduled = true) {
  await using store = openMemoryStore();
  const acquired = await store.acquire({ ...owner("rota run"), ...limits });
  const fixture = new LedgerFixture();
  fixture.write(fixture.submit(Array.from({ length: tasks }, (_, no) => task(`t${no}`))), 0, claimed);
  await store.commit(fixture.pending.take(acquired.ok ? acquired.value.epoch : 0));
  const reader = {
    store,
    now: () => NOW,
    owner: () => store.owner(),
    scheduler: async () => (isScheduled ? store.owner() : undefined),
  } as unknown as Reader;
  const run: Run = await loadRun(reader, {
    no: FIRST,
    manifest: fixture.world.run(FIRST)?.manifest as Run["manifest"],
  });
  return await explainTask(reader, run, run.tasks[1] as Task);
}

test("a task that waits because the queue is full is said to, by a process that only looks", async () => {
  const { wait, gates } = await lookAt(900, { pressure: PRESSURE_PRESETS.strict });
  expect(wait).toMatchObject({ reason: "backpressure" });
  expect(gates).toContainEqual(expect.objectContaining({ gate: "pressure", open: false, queued: 899, depth: 1_000 }));
  expect((await lookAt(900, {})).wait?.reason).not.toBe("backpressure");
});

test.each([
  ["finished", 1],
  ["active", 3],
])("a run that is %s has %d runs read to say why", async (state, expected) => {
  await using store = openMemoryStore();
  const acquired = await store.acquire(owner(SERVE));
  const fixture = new LedgerFixture();
  for (const no of [1, 2, 3]) fixture.submit([task("a")], { id: runId(`run-${no}`) }, runNo(no));
  if (state === "finished") {
    fixture.write(fixture.world.run(FIRST) as Run, 0, { kind: "cancelled", asked });
    fixture.pending.ofRun(FIRST, { kind: "run_finished", outcome: "cancelled" }, NOW);
  }
  await store.commit(fixture.pending.take(acquired.ok ? acquired.value.epoch : 0));
  const loaded: number[] = [];
  const reader = {
    store: { ...store, load: (no: RunNo) => store.load(no).finally(() => loaded.push(no)) },
    now: () => NOW,
    owner: () => store.owner(),
    scheduler: () => store.owner(),
  } as unknown as Reader;
  const [row] = await store.runs({ no: FIRST });
  const run = await loadRun(reader, row as RunRow);
  await explainTask(reader, run, run.tasks[0] as Task);
  expect(loaded).toHaveLength(expected);
});

test("without a scheduler nothing is about to start", async () => {
  const { wait, gates } = await lookAt(3, {}, false);
  expect(wait).toMatchObject({ reason: "capacity", workers: 0, idle: 0 });
  expect(gates).toContainEqual(expect.objectContaining({ gate: "workers", open: false, total: 0 }));
  expect((await lookAt(3, {})).wait).not.toMatchObject({ workers: 0 });
});

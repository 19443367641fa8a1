import { describe, expect, test } from "vitest";
import { manifest, task } from "../../../test/rig/builders.ts";
import { gatedRig } from "../../../test/rig/gated.ts";
import { find, openRig, statesOf } from "../../../test/rig/rig.ts";
import { profile } from "../../../test/rig/sessions.ts";
import { LEASE_TTL } from "../../domain/lease.ts";
import { minutes, seconds } from "../../domain/time.ts";
import { openMemoryStore } from "../../store/memory/store.ts";

const many = (count: number) => Array.from({ length: count }, (_, at) => task(`t${at}`));

test("maintenance waits until the decisions have gone out", async () => {
  const order: string[] = [];
  const store = openMemoryStore();
  const maintain = (): void => void order.push(`maintained after ${rig.machine.started.join(" ")}`);
  const rig = await openRig({ workers: 1, store: { ...store, maintain } });
  void rig.engine.submit(manifest(), [task("a"), task("b")]).then(() => order.push("submitted"));
  await rig.clock.settle();
  rig.machine.at("a").succeeds();
  await rig.clock.settle();
  expect(order).toEqual(["submitted", "maintained after a", "maintained after a b"]);
});

test("where callers always wait, the store is maintained all the same", async () => {
  let maintained = 0;
  const store = openMemoryStore();
  const rig = await openRig({ workers: 1, store: { ...store, maintain: () => void maintained++ } });
  await rig.submit(many(200));
  maintained = 0;
  // The next call comes before the listeners have heard of the last commit.
  rig.engine.listen(() => {
    for (const process of rig.machine.processes) if (process.alive) process.succeeds();
    void rig.engine.api.join(profile("s1"));
  });
  rig.machine.at("t0").succeeds();
  await rig.clock.settle();
  expect(maintained).toBeGreaterThan(5);
});

describe("while the store is at work", () => {
  test("a claim that is not durable yet keeps its lease for as long as that takes, and is started once", async () => {
    const rig = await gatedRig({ workers: 1 });
    const run = await rig.submit([task("a"), task("b")]);
    rig.store.close();
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed" });
    for (let time = 0; time < 5 * LEASE_TTL; time += seconds(5)) await rig.clock.advance(seconds(5));
    expect(find(run, "b").attempt).toBe(1);
    expect(rig.machine.started).toEqual(["a"]);
    rig.store.open();
    await rig.clock.settle();
    expect(rig.machine.started).toEqual(["a", "b"]);
  });

  test("what is to be stopped meanwhile is started first, and stopped when that is durable", async () => {
    const rig = await gatedRig({ workers: 1 });
    const run = await rig.submit([task("a"), task("b")]);
    rig.store.close();
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    await rig.store.request({ kind: "cancel", run: run.manifest.id, by: "mo", at: rig.clock.now() });
    const taken = rig.engine.takeRequests();
    await rig.clock.settle();
    expect(rig.machine.started).toEqual(["a"]);
    rig.store.open();
    await rig.promised(taken);
    expect(rig.machine.at("b").stops).toHaveLength(1);
    rig.machine.at("b").fails();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "cancelled" });
  });

  test("no more is given out than one batch holds, and an attempt that ends meanwhile has ended in time", async () => {
    const rig = await gatedRig({ workers: 1_000 });
    const run = await rig.submit(many(4_000));
    rig.store.close();
    // Some end while the store is free, and the others when it has all the batches it may have.
    const [first, ...others] = rig.machine.processes;
    first?.succeeds();
    await rig.clock.settle();
    for (const process of others) process.succeeds();
    await rig.clock.advance(minutes(5));
    expect(rig.store.waiting).toHaveLength(2);
    expect(run.tasks.filter(({ status }) => status.state === "claimed").length).toBeLessThan(1_000);
    rig.store.open();
    for (let left = 5; left > 0; left--) {
      await rig.clock.settle();
      for (const process of rig.machine.processes) if (process.alive) process.succeeds();
    }
    await rig.clock.settle();
    expect(await rig.kinds()).not.toContain("expired");
    await rig.clock.settle();
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
  });

  test("the next batch is handed over before any caller is told of the last", async () => {
    const rig = await gatedRig({ workers: 2 });
    await rig.submit([task("a"), task("b")]);
    rig.store.close();
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    const told: number[] = [];
    rig.engine.listen(() => told.push(rig.store.committed.length + rig.store.waiting.length));
    const before = rig.store.committed.length;
    rig.store.open();
    await rig.clock.settle();
    expect(told).toEqual([before + 2, before + 2]);
  });

  test("a batch that fails ends everything, also what was handed over after it", async () => {
    const rig = await gatedRig({ workers: 2 });
    const run = await rig.submit([task("a"), task("b")]);
    const ended = rig.engine.idle(run);
    ended.catch(() => {});
    const told = rig.told.length;
    rig.store.close();
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    rig.store.break(new Error("the disk is gone"));
    rig.store.open();
    await rig.clock.settle();
    await expect(ended).rejects.toThrow("the disk is gone");
    expect(rig.told).toHaveLength(told);
  });
});

test.each([
  { workers: 100, batches: [100] },
  { workers: 200, batches: [128, 72] },
  { workers: 400, batches: [200, 200] },
  { workers: 1_000, batches: [256, 256, 256, 232] },
])(
  "of $workers that can be out, half are given out at once, and neither few nor too many",
  async ({ workers, batches }) => {
    const rig = await gatedRig({ workers });
    await rig.submit(many(workers));
    expect(rig.machine.started).toHaveLength(workers);
    const claims = rig.store.committed.map(({ events }) => events.filter(({ kind }) => kind === "claimed").length);
    expect(claims.filter((count) => count > 0)).toEqual(batches);
  },
);

test("what a run has taught is written together with its end", async () => {
  const rig = await gatedRig({ workers: 300 });
  await rig.submit(many(300));
  for (const process of rig.machine.processes) process.succeeds();
  await rig.clock.settle();
  const last = rig.store.committed.find(({ events }) => events.some(({ kind }) => kind === "run_finished"));
  expect(last?.durationSamples.map(({ durationSamples }) => durationSamples.length)).toEqual([300]);
});

/** Reports and decisions that cross each other. Each case was found by a seed of the simulator. */
import { describe, expect, test } from "vitest";
import { manifest, task } from "../../test/rig/builders.ts";
import { find, openRig, statesOf } from "../../test/rig/rig.ts";
import { agentTask, BEAT, claimed, DONE, join, proofOf, refusal } from "../../test/rig/sessions.ts";
import { gatedStore } from "../../test/rig/stores.ts";
import { runId } from "../domain/ids.ts";
import { seconds } from "../domain/time.ts";
import { openMemoryStore } from "../store/memory/store.ts";

describe("while the last end of a run is being written", () => {
  test("a report on it is refused, and the scheduler goes on", async () => {
    const store = gatedStore(openMemoryStore());
    const rig = await openRig({ store, forgets: true });
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const proof = proofOf(await claimed(rig, "s1"));
    store.close();
    const done = rig.engine.api.report(proof, DONE);
    await rig.clock.settle();
    const late = refusal(rig.engine.api.report(proof, BEAT));
    await rig.clock.settle();
    store.open();
    await rig.clock.settle();
    expect(await done).toMatchObject({ repeated: false });
    expect(await late).toBe("LEASE_LOST");
    expect(await rig.kinds()).toContain("late_report_refused");
    await rig.submit([task("b")], { id: runId("next") });
    expect(rig.machine.running).toEqual(["b"]);
  });

  test("a request about it comes too late, and is done with", async () => {
    const store = gatedStore(openMemoryStore());
    const rig = await openRig({ store, forgets: true });
    const run = await rig.submit([task("a")]);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    store.close();
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    await rig.store.request({ kind: "cancel", run: run.manifest.id, by: "mo", at: rig.clock.now() });
    const taken = rig.engine.takeRequests();
    await rig.clock.settle();
    store.open();
    await rig.clock.settle();
    await taken;
    expect(await rig.store.requests()).toEqual([]);
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
  });
});

describe("a scheduler that comes back to several runs", () => {
  test("gives nothing out before it knows what each of them has out", async () => {
    const rig = await openRig({ workers: 1 });
    const waiting = await rig.submit([task("a", { writes: ["src/"] })], { id: runId("one") });
    rig.machine.at("a").starts().fails();
    await rig.clock.advance(20);
    const first = await rig.submit([task("b", { writes: ["src/"] }), task("c")], { id: runId("two") });
    const second = await rig.submit([task("d", { writes: ["src/"] })], { id: runId("three") });
    expect(rig.machine.running).toEqual(["b"]);
    rig.crash();
    await rig.boot();
    // The run with the waiting task comes first, and would take the worker that the other one has.
    const [again] = await rig.promised(rig.engine.resumeAll([second.no, first.no]));
    expect(again && statesOf(again)).toEqual({ d: "ready" });
    expect(rig.machine.running).toEqual(["b"]);
    expect(waiting.status.state).toBe("finished");
  });
});

describe("a turn that comes late", () => {
  test("does not take what runs here for lost", async () => {
    const store = gatedStore(openMemoryStore());
    const rig = await openRig({ store, leaseTtl: seconds(5), heartbeat: seconds(1) });
    const run = await rig.submit([task("a")], manifest());
    rig.machine.at("a").starts();
    const cycle = rig.engine.cycle({
      waker: { wake: async () => [] },
      spawn: async () => false,
      reaches: () => false,
    });
    await rig.clock.advance(100);
    store.close();
    await rig.clock.advance(8_000);
    const swept = cycle.runOnce();
    store.open();
    await rig.clock.settle();
    expect((await swept).recovered).toEqual([]);
    expect(find(run, "a")).toMatchObject({ attempt: 1, expiries: 0 });
    expect(rig.machine.started).toEqual(["a"]);
  });
});

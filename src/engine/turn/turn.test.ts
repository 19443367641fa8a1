import { describe, expect, test } from "vitest";
import { manifest, task } from "../../../test/rig/builders.ts";
import { gatedRig } from "../../../test/rig/gated.ts";
import { find, openRig, statesOf } from "../../../test/rig/rig.ts";
import { runId } from "../../domain/ids.ts";
import { LEASE_TTL } from "../../domain/lease.ts";
import { minutes, seconds } from "../../domain/time.ts";

/** A rejection is looked at later; until then it must not count as unhandled. */
function watched<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

describe("durable first", () => {
  test("nothing is started before its claim is durable, and no caller is told", async () => {
    const rig = await gatedRig();
    rig.store.close();
    const submitted = rig.engine.submit(manifest(), [task("a")]);
    await rig.clock.settle();
    expect(rig.store.waiting).toHaveLength(1);
    expect(rig.machine.started).toEqual([]);
    expect(rig.told).toEqual([]);
    rig.store.open();
    await rig.promised(submitted);
    expect(rig.machine.started).toEqual(["a"]);
    expect(rig.told.map(({ kind }) => kind)).toEqual(["run_submitted", "claimed"]);
  });

  test("a submit is answered when the run is durable, not before", async () => {
    const rig = await gatedRig();
    rig.store.close();
    let answered = false;
    void rig.engine.submit(manifest(), [task("a")]).then(() => {
      answered = true;
    });
    await rig.clock.settle();
    expect(answered).toBe(false);
    rig.store.open();
    await rig.clock.settle();
    expect(answered).toBe(true);
  });

  test("an attempt is told to stop only when that is durable", async () => {
    const rig = await gatedRig();
    const run = await rig.submit([task("a")]);
    rig.store.close();
    await rig.store.request({ kind: "cancel", run: run.manifest.id, by: "mo", at: rig.clock.now() });
    const taken = rig.engine.takeRequests();
    await rig.clock.settle();
    expect(rig.machine.at("a").stops).toEqual([]);
    rig.store.open();
    await rig.promised(taken);
    expect(rig.machine.at("a").stops).toMatchObject([{ reason: { kind: "cancelled" } }]);
  });

  test("the end of a run is told only when it is durable", async () => {
    const rig = await gatedRig();
    const run = await rig.submit([task("a")]);
    let ended = false;
    void rig.engine.idle(run).then(() => {
      ended = true;
    });
    await rig.clock.settle();
    rig.store.close();
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(ended).toBe(false);
    rig.store.open();
    await rig.clock.settle();
    expect(ended).toBe(true);
  });
});

describe("when the store fails", () => {
  test.each([
    ["breaks", new Error("disk full"), "disk full"],
    ["is another's", "ownership-lost" as const, "Another scheduler"],
  ])(
    "because it %s, waiting callers hear of it, no other caller is told anything, and nothing more is done",
    async (_, how, message) => {
      const rig = await gatedRig();
      const run = await rig.submit([task("a"), task("b", { needs: ["a"] })]);
      const waiting = [rig.engine.failed, rig.engine.idle(run)].map(watched);
      await rig.clock.settle();
      const told = rig.told.length;
      rig.store.break(how);
      rig.machine.at("a").succeeds();
      const late = watched(rig.engine.submit(manifest({ id: runId("run-2") }), [task("c")]));
      await rig.clock.settle();
      for (const promise of [...waiting, late]) await expect(promise).rejects.toThrow(message);
      expect(rig.machine.started).toEqual(["a"]);
      expect(rig.told).toHaveLength(told);
      const committed = rig.store.committed.length;
      await rig.clock.advance(minutes(5));
      expect(rig.store.committed).toHaveLength(committed);
      expect(rig.clock.waiting).toEqual([]);
    },
  );
});

describe("one turn, one commit", () => {
  test("whatever has come in since the last turn is committed together", async () => {
    const rig = await gatedRig({ workers: 50 });
    await rig.submit(Array.from({ length: 50 }, (_, at) => task(`t${at}`)));
    const before = rig.store.committed.length;
    for (const process of rig.machine.processes) process.starts().succeeds();
    await rig.clock.settle();
    expect(rig.store.committed).toHaveLength(before + 1);
    expect(rig.store.committed.at(-1)?.events).toHaveLength(2 * 50 + 1);
  });

  test("the end of one task and the claim of the next are one commit", async () => {
    const rig = await gatedRig({ workers: 1 });
    await rig.submit([task("a"), task("b")]);
    const before = rig.store.committed.length;
    rig.machine.at("a").starts().succeeds();
    await rig.clock.settle();
    const kinds = rig.store.committed.slice(before).map(({ events }) => events.map(({ kind }) => kind));
    expect(kinds).toEqual([["started", "succeeded", "claimed"]]);
  });

  test("what comes in during a commit is decided meanwhile, and committed with the next", async () => {
    const rig = await gatedRig({ workers: 2 });
    const run = await rig.submit([task("a"), task("b")]);
    rig.store.close();
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    expect(rig.store.waiting).toHaveLength(1);
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "succeeded" });
    expect(rig.told.filter(({ kind }) => kind === "succeeded")).toEqual([]);
    rig.store.open();
    await rig.clock.settle();
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
  });

  test("an end that is asked for during a commit is answered after it", async () => {
    const rig = await gatedRig();
    const run = await rig.submit([task("a")]);
    rig.store.close();
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    let ended = false;
    void rig.engine.idle(run).then(() => {
      ended = true;
    });
    rig.store.open();
    await rig.clock.settle();
    expect(ended).toBe(true);
  });

  test("that something started is written with the next commit, or a moment later", async () => {
    const rig = await gatedRig();
    await rig.submit([task("a")]);
    const before = rig.store.committed.length;
    rig.machine.at("a").starts();
    await rig.clock.advance(19);
    expect(rig.store.committed).toHaveLength(before);
    await rig.clock.advance(1);
    expect(rig.store.committed).toHaveLength(before + 1);
    expect(await rig.kinds()).toEqual(["run_submitted", "claimed", "started"]);
  });

  test("a commit costs what has changed, not what there is", async () => {
    const rig = await gatedRig({ workers: 1 });
    await rig.submit([task("root"), ...Array.from({ length: 5_000 }, (_, at) => task(`t${at}`, { needs: ["root"] }))]);
    expect(rig.store.committed.at(-1)?.tasks).toHaveLength(1);
    rig.machine.at("root").succeeds();
    await rig.clock.settle();
    const { tasks, runs, events } = rig.store.committed.at(-1) ?? {};
    // One of the 5,000 tasks starts, and one event stands for all that wait.
    expect(tasks?.map(({ row }) => row.state)).toEqual(["succeeded", "claimed", "waiting"]);
    expect(runs).toEqual([]);
    expect(events?.map(({ kind }) => kind)).toEqual(["succeeded", "claimed", "waiting"]);
  });

  test("a turn in which nothing happened writes nothing", async () => {
    const rig = await gatedRig();
    const run = await rig.submit([task("a")]);
    const before = rig.store.committed.length;
    void rig.engine.idle(run);
    rig.machine.at("a").shows();
    await rig.clock.advance(1_000);
    expect(rig.store.committed).toHaveLength(before);
  });

  test("an engine that was closed does nothing more", async () => {
    const rig = await gatedRig();
    await rig.submit([task("a"), task("b", { needs: ["a"] })]);
    await rig.engine.close();
    await rig.engine.close();
    rig.machine.at("a").succeeds();
    await rig.clock.advance(minutes(5));
    expect(rig.machine.started).toEqual(["a"]);
    expect(rig.clock.waiting).toEqual([]);
  });
});

describe("several runs", () => {
  test("that are submitted at once are told apart", async () => {
    const rig = await openRig();
    const [first, second] = await rig.promised(
      Promise.all([
        rig.engine.submit(manifest({ id: runId("run-1") }), [task("a")]),
        rig.engine.submit(manifest({ id: runId("run-2") }), [task("b")]),
      ]),
    );
    expect([first?.no, second?.no]).toEqual([1, 2]);
    expect(rig.machine.started).toEqual(["a", "b"]);
    expect(await rig.store.runs()).toHaveLength(2);
  });

  test("are numbered after those the store already knows", async () => {
    const rig = await openRig();
    await rig.submit([task("a")]);
    rig.crash();
    await rig.boot();
    const run = await rig.submit([task("b")], { id: runId("run-2") });
    expect(run.no).toBe(2);
  });

  test("end each for itself", async () => {
    const rig = await openRig();
    const first = await rig.submit([task("a")]);
    const second = await rig.submit([task("b")], { id: runId("run-2") });
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    expect([first.status.state, second.status.state]).toEqual(["active", "finished"]);
  });
});

describe("leases", () => {
  test("are renewed at every heartbeat for as long as the attempt lives, without a word in the ledger", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    rig.machine.at("a").starts();
    await rig.clock.advance(minutes(10));
    expect(await rig.kinds()).toEqual(["run_submitted", "claimed", "started"]);
    const [row] = (await rig.store.load(run.no))?.tasks ?? [];
    expect(row?.deadline).toBeGreaterThan(rig.clock.now() + LEASE_TTL - seconds(6));
    expect(find(run, "a").attempt).toBe(1);
  });

  test("survive a machine that slept: nothing is taken from an attempt that is still there", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    rig.machine.at("a").starts();
    await rig.clock.advance(seconds(1));
    await rig.clock.sleep(minutes(30));
    expect(statesOf(run)).toEqual({ a: "running" });
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(run.status).toMatchObject({ outcome: "succeeded" });
  });

  test("last as long, and are renewed as often, as the options say", async () => {
    const rig = await openRig({ leaseTtl: seconds(9), heartbeat: seconds(2) });
    const run = await rig.submit([task("a")]);
    expect(find(run, "a").status).toMatchObject({ lease: { deadline: rig.clock.now() + 9_000 } });
    await rig.clock.advance(seconds(2));
    expect(find(run, "a").status).toMatchObject({ lease: { deadline: rig.clock.now() + 9_000 } });
  });

  test("stop being renewed when nothing is alive: the engine then waits for nothing", async () => {
    const rig = await openRig();
    await rig.submit([task("a")]);
    rig.machine.at("a").succeeds();
    await rig.clock.advance(minutes(1));
    expect(rig.clock.waiting).toEqual([]);
  });
});

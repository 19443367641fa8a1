/** A key is done once over all runs of a store, whatever happens to the scheduler in between. */
import { describe, expect, test } from "vitest";
import { manifest, task } from "../../../test/rig/builders.ts";
import { find, openRig, type Rig, statesOf } from "../../../test/rig/rig.ts";
import { agentTask, claim, claimed, DONE, join, report } from "../../../test/rig/sessions.ts";
import { gatedStore } from "../../../test/rig/stores.ts";
import { explain } from "../../decide/explain/explain.ts";
import { runId } from "../../domain/ids.ts";
import type { Run } from "../../domain/run.ts";
import { seconds } from "../../domain/time.ts";
import { openMemoryStore } from "../../store/memory/store.ts";

const keyed = (id: string, rest: Parameters<typeof task>[1] = {}) => task(id, { idempotencyKey: "deploy-42", ...rest });
const [ONE, TWO] = [{ id: runId("one") }, { id: runId("two") }];
const kindsOf = async (rig: Rig, run: Run, id: string) => (await rig.eventsOf(run, id)).map(({ kind }) => kind);
const waitOf = (rig: Rig, run: Run, id: string) => explain(rig.engine.pools, run, find(run, id), rig.clock.now()).wait;

describe("a task with the key of another", () => {
  test("waits while that one is at it, and takes its result without an attempt", async () => {
    const rig = await openRig();
    const first = await rig.submit([keyed("a")], ONE);
    const second = await rig.submit([keyed("b"), task("c", { needs: ["b"] })], TWO);
    expect(rig.machine.running).toEqual(["a"]);
    expect(waitOf(rig, second, "b")).toMatchObject({ reason: "same-key", key: "deploy-42", run: "one" });
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(statesOf(second)).toEqual({ b: "succeeded", c: "claimed" });
    expect(find(second, "b")).toMatchObject({
      attempt: 0,
      status: { outcome: { kind: "success", takenFrom: { run: "one", task: "a" } } },
    });
    expect((await kindsOf(rig, second, "b")).filter((kind) => kind !== "waiting")).toEqual(["succeeded"]);
    expect([first.status.state, rig.machine.started]).toEqual(["finished", ["a", "c"]]);
  });

  test("waits for it between two tries, and does it itself once it has failed for good", async () => {
    const rig = await openRig();
    const retry = { attempts: 2, backoff: seconds(5) };
    await rig.submit([keyed("a", { retry })], ONE);
    const second = await rig.submit([keyed("b")], TWO);
    rig.machine.at("a").fails();
    await rig.clock.settle();
    expect([rig.machine.running, waitOf(rig, second, "b")?.reason]).toEqual([[], "same-key"]);
    await rig.clock.advance(5_000);
    expect(rig.machine.running).toEqual(["a"]);
    rig.machine.at("a").fails();
    await rig.clock.settle();
    expect(rig.machine.running).toEqual(["b"]);
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    expect(find(second, "b")).toMatchObject({ attempt: 1, status: { state: "succeeded" } });
  });

  test("goes when that one is parked or cancelled", async () => {
    const rig = await openRig();
    await rig.submit([keyed("a")], ONE);
    await rig.submit([keyed("b")], TWO);
    await rig.ask({ kind: "cancel", run: ONE.id, task: find(rig.engine.world.findRun(ONE.id) as Run, "a").spec.id });
    rig.machine.at("a").obeys();
    await rig.clock.settle();
    expect(rig.machine.running).toEqual(["b"]);
  });

  test("of the same plan does not do it either", async () => {
    const rig = await openRig();
    const run = await rig.submit([keyed("a"), keyed("b"), keyed("c", { needs: ["a", "b"] })]);
    expect(rig.machine.running).toEqual(["a"]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "succeeded", c: "succeeded" });
    expect([rig.machine.started, run.status.state]).toEqual([["a"], "finished"]);
  });

  test("of another pool waits for it too, and the other way round", async () => {
    const rig = await openRig();
    await join(rig, "s1");
    await rig.submit([agentTask("a", { idempotencyKey: "k" })], ONE);
    const granted = await claimed(rig, "s1");
    const second = await rig.submit([task("b", { idempotencyKey: "k" })], TWO);
    expect(rig.machine.running).toEqual([]);
    await report(rig, granted, DONE);
    expect(statesOf(second)).toEqual({ b: "succeeded" });
    await rig.submit([task("c", { idempotencyKey: "l" })], { id: runId("three") });
    const fourth = await rig.submit([agentTask("d", { idempotencyKey: "l" })], { id: runId("four") });
    expect(await claim(rig, "s1")).toBeUndefined();
    rig.machine.at("c").succeeds();
    await rig.clock.settle();
    expect(statesOf(fourth)).toEqual({ d: "succeeded" });
  });
});

test("a task that has become ready has not done anything yet", async () => {
  const rig = await openRig();
  const run = await rig.submit([task("before"), keyed("a", { needs: ["before"] }), keyed("b", { needs: ["before"] })]);
  rig.machine.at("before").succeeds();
  await rig.clock.settle();
  expect([statesOf(run), rig.machine.running]).toEqual([{ before: "succeeded", a: "claimed", b: "ready" }, ["a"]]);
});

describe("what is done stays done", () => {
  test("when its run has ended and was forgotten, and after a crash", async () => {
    const rig = await openRig({ forgets: true });
    await rig.submit([keyed("a")], ONE);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    const second = await rig.submit([keyed("b")], TWO);
    expect([statesOf(second), rig.machine.started]).toEqual([{ b: "succeeded" }, ["a"]]);
    rig.crash();
    await rig.boot();
    const third = await rig.submit([keyed("c")], { id: runId("three") });
    expect([statesOf(third), rig.machine.started]).toEqual([{ c: "succeeded" }, ["a"]]);
  });

  test("who has the key keeps it through a crash", async () => {
    const rig = await openRig();
    const first = await rig.submit([keyed("a")], ONE);
    const second = await rig.submit([keyed("b")], TWO);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    rig.crash();
    await rig.boot();
    const [, again] = await rig.promised(rig.engine.resumeAll([first.no, second.no]));
    expect(rig.machine.running).toEqual(["a"]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(again && statesOf(again)).toEqual({ b: "succeeded" });
  });

  test("for a plan that comes while that is being written", async () => {
    const store = gatedStore(openMemoryStore());
    const rig = await openRig({ store, forgets: true });
    await rig.submit([keyed("a")], ONE);
    store.close();
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    const submitted = rig.engine.submit(manifest({ submittedAt: rig.clock.now(), ...TWO }), [keyed("b")]);
    await rig.clock.settle();
    store.open();
    expect([statesOf(await rig.promised(submitted)), rig.machine.started]).toEqual([{ b: "succeeded" }, ["a"]]);
  });
});

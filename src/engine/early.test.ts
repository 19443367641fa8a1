import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { type GatedRig, gatedRig } from "../../test/rig/gated.ts";
import type { Process } from "../../test/rig/machine.ts";
import { find, openRig, statesOf } from "../../test/rig/rig.ts";
import type { Run } from "../domain/run.ts";
import { millis, seconds } from "../domain/time.ts";
import { replayAll } from "../store/replay.ts";

const CHAIN = [task("a"), task("b", { needs: ["a"] }), task("c", { needs: ["b"] })];

/** The first of a chain has ended, and the store does not get to it. */
async function atWork(options: Parameters<typeof gatedRig>[0] = {}): Promise<{ rig: GatedRig; run: Run }> {
  const rig = await gatedRig({ workers: 1, isEager: true, ...options });
  const run = await rig.submit(CHAIN);
  rig.store.close();
  rig.machine.at("a").succeeds();
  await rig.clock.settle();
  return { rig, run };
}

describe("while the store is at work", () => {
  test("what the claim before has named is begun", async () => {
    const { rig, run } = await atWork();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed", c: "blocked" });
    expect(rig.machine.started).toEqual(["a", "b"]);
    rig.store.open();
    await rig.clock.settle();
    expect(rig.machine.started).toEqual(["a", "b"]);
    expect((await rig.eventsOf(run, "b")).map(({ kind }) => kind)).toEqual(["claimed"]);
    expect(await rig.eventsOf(run, "a")).toMatchObject([{ kind: "claimed", next: find(run, "b").no }, {}]);
  });

  test("nothing is where that is not worth it", async () => {
    const { rig, run } = await atWork({ isEager: false });
    expect(rig.machine.started).toEqual(["a"]);
    rig.store.open();
    await rig.clock.settle();
    expect((await rig.eventsOf(run, "a"))[0]).not.toHaveProperty("next");
  });

  test("only what a claim has named that is durable itself: one step, and not two", async () => {
    const { rig } = await atWork();
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    expect(rig.machine.started).toEqual(["a", "b"]);
    rig.store.open();
    await rig.clock.settle();
    expect(rig.machine.started).toEqual(["a", "b", "c"]);
  });

  test("not what a person has cancelled meanwhile, although it was named", async () => {
    const rig = await openRig({ workers: 1, isEager: true });
    const run = await rig.submit(CHAIN);
    await rig.ask({ kind: "cancel", run: run.manifest.id, task: find(run, "b").spec.id });
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "cancelled", c: "skipped" });
    expect(rig.machine.started).toEqual(["a"]);
  });

  test("whoever waits for a worker is named, each by another claim", async () => {
    const rig = await openRig({ workers: 2, isEager: true });
    const run = await rig.submit(["a", "b", "c", "d", "e"].map((id) => task(id)));
    const named = async (id: string): Promise<unknown> => (await rig.eventsOf(run, id))[0];
    expect(await named("a")).toMatchObject({ next: find(run, "b").no });
    expect(await named("b")).toMatchObject({ next: find(run, "c").no });
  });
});

/** What the one before had the store write comes too late. */
async function takenOver(rig: GatedRig): Promise<void> {
  rig.crash();
  await rig.boot();
  rig.store.open();
  await rig.clock.settle();
}

const begunOn = (rig: GatedRig): readonly string[] =>
  rig.machine.processes.map(({ attempt: { task: id, fence } }) => `${id}#${fence}`);

describe("a scheduler that dies before the claim of what it has begun is written", () => {
  test("is followed by one that goes on with it", async () => {
    const { rig, run: before } = await atWork();
    await takenOver(rig);
    const run = await rig.promised(rig.engine.resume(before.no));
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed", c: "blocked" });
    rig.machine.at("b").starts().succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "succeeded", c: "claimed" });
    expect(begunOn(rig)).toEqual(["a#1", "b#1", "c#1"]);
    expect(await replayAll(rig.store)).toEqual([]);
  });

  test("where that is not possible, it is ended before anything else goes out, and its number is not used again", async () => {
    const { rig, run: before } = await atWork();
    await takenOver(rig);
    const [first, begun] = rig.machine.processes;
    // Nobody knows any more that what it needs was done.
    rig.machine.lose(first as Process);
    rig.store.close();
    const resumed = rig.engine.resume(before.no);
    await rig.clock.settle();
    // Before it is written that its number is void: from then on nobody would look for it.
    expect(rig.store.waiting).toHaveLength(1);
    expect(begun?.stops).toEqual([{ reason: { kind: "shutdown" }, grace: millis(0) }]);
    rig.store.open();
    await rig.clock.settle();
    expect(begunOn(rig)).toEqual(["a#1", "b#1"]);
    begun?.obeys();
    const run = await rig.promised(resumed);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed", c: "blocked" });
    expect(begunOn(rig)).toEqual(["a#1", "b#1", "a#2", "b#2"]);
    expect((await rig.eventsOf(run, "b")).map(({ kind }) => kind)).toEqual(["voided", "claimed"]);
    expect(await replayAll(rig.store)).toEqual([]);
  });

  test("or by one that goes on with something else", async () => {
    const { rig, run: before } = await atWork();
    await takenOver(rig);
    rig.machine.loseAll();
    await rig.promised(rig.engine.shelve(before.no));
    expect((await rig.eventsOf(before, "b")).map(({ kind }) => kind)).toEqual(["voided"]);
  });
});

describe("what comes next is got ready while the one before still runs", () => {
  const ids = (attempts: readonly { readonly task: string; readonly fence: number }[]): readonly string[] =>
    attempts.map(({ task: id, fence }) => `${id}#${fence}`);

  /** The first has shown that they are short. */
  async function inHurry(durationMs = millis(1)) {
    const rig = await openRig({ workers: 1, isEager: true });
    const run = await rig.submit(CHAIN);
    rig.machine.at("a").ends({ kind: "success", durationMs });
    await rig.clock.settle();
    return { rig, run };
  }

  test("where they are short", async () => {
    const { rig } = await inHurry();
    // The second has begun at once.
    expect(ids(rig.machine.prepared)).toEqual(["a#1", "c#1"]);
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    expect(rig.machine.started).toEqual(["a", "b", "c"]);
    expect(ids(rig.machine.prepared)).toEqual(["a#1", "c#1"]);
    expect(rig.machine.forgone).toEqual([]);
  });

  test("not where they are long", async () => {
    const { rig } = await inHurry(seconds(1));
    expect(ids(rig.machine.prepared)).toEqual(["a#1"]);
  });

  test("and given up when it does not come to that", async () => {
    const { rig } = await inHurry();
    rig.machine.at("b").fails();
    await rig.clock.settle();
    expect(ids(rig.machine.forgone)).toEqual(["c#1"]);
  });

  test("or when the one before takes longer after all", async () => {
    const { rig } = await inHurry();
    await rig.clock.advance(seconds(6));
    expect(ids(rig.machine.forgone)).toEqual(["c#1"]);
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    expect(rig.machine.started).toEqual(["a", "b", "c"]);
  });

  test("or when a person changes what it is", async () => {
    const { rig, run } = await inHurry();
    await rig.promised(rig.engine.reception.edit(run, find(run, "c"), { run: { shell: "other" } }, { by: "mo" }));
    expect(ids(rig.machine.forgone)).toEqual(["c#1"]);
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    expect(rig.machine.at("c").attempt.command).toEqual({ shell: "other" });
  });
});

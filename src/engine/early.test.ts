import { describe, expect, test, vi } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { type GatedRig, gatedRig } from "../../test/rig/gated.ts";
import type { Process } from "../../test/rig/machine.ts";
import { find, openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import { runId } from "../domain/ids.ts";
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

describe("whoever can only come next is begun at the end of the one before, and claimed when that is dealt with", () => {
  const begun = async (specs = CHAIN, workers = 1): Promise<{ rig: Rig; run: Run }> => {
    const rig = await openRig({ workers, isEager: true });
    return { rig, run: await rig.submit(specs) };
  };
  const kinds = async (rig: Rig, run: Run, id: string) => (await rig.eventsOf(run, id)).map(({ kind }) => kind);

  test("in this order", async () => {
    const { rig, run } = await begun();
    rig.machine.at("a").starts().succeeds();
    expect(rig.engine.live).toBe(2);
    // Nobody has heard of it yet.
    expect([rig.machine.started, statesOf(run)]).toEqual([["a", "b"], { a: "claimed", b: "blocked", c: "blocked" }]);
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed", c: "blocked" });
    rig.machine.at("b").starts().succeeds();
    await rig.clock.settle();
    expect(rig.machine.started).toEqual(["a", "b", "c"]);
    expect(await kinds(rig, run, "b")).toEqual(["claimed", "started", "succeeded"]);
    expect(await replayAll(rig.store)).toEqual([]);
  });

  test("however soon it has ended", async () => {
    const { rig, run } = await begun();
    rig.machine.at("a").starts().succeeds();
    rig.machine.at("b").starts().succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "succeeded", c: "claimed" });
    expect(await kinds(rig, run, "b")).toEqual(["claimed", "started", "succeeded"]);
    rig.machine.at("c").starts().succeeds();
    await rig.promised(rig.engine.idle(run));
    expect([rig.machine.started, rig.engine.live]).toEqual([["a", "b", "c"], 0]);
  });

  const NOT_AT_ONCE: Readonly<Record<string, (rig: Rig, run: Run) => void | Promise<void>>> = {
    "that fails": (rig) => void rig.machine.at("a").fails(),
    "that was told to end": async (rig, run) => {
      await rig.ask({ kind: "cancel", run: run.manifest.id, task: find(run, "a").spec.id });
      rig.machine.at("a").succeeds();
    },
    "when nothing more is to be started": async (rig) => {
      rig.engine.pause();
      await rig.clock.settle();
      rig.machine.at("a").succeeds();
    },
    "when it is on hold": async (rig, run) => {
      const scope = { of: "task", run: run.no, task: find(run, "b").no } as const;
      await rig.promised(rig.engine.reception.hold(scope, { by: "mo" }));
      rig.machine.at("a").succeeds();
    },
    "when something else has come in": (rig, run) => {
      void rig.engine.reception.edit(run, find(run, "c"), { run: { shell: "other" } }, { by: "mo" });
      rig.machine.at("a").succeeds();
    },
    "when no more turns are taken": (rig) => {
      void rig.engine.close();
      rig.machine.at("a").succeeds();
    },
  };
  test.each(Object.entries(NOT_AT_ONCE))("but not at the end of one %s", async (_, happens) => {
    const { rig, run } = await begun();
    await happens(rig, run);
    expect(rig.machine.started).toEqual(["a"]);
  });

  test("nor before somebody more urgent who waits for the same end", async () => {
    const rest = [task("urgent", { needs: ["a"], priority: "critical" }), task("long", { needs: ["b"] })];
    const { rig } = await begun([task("a"), task("b", { needs: ["a"], priority: "low" }), ...rest]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(rig.machine.started).toEqual(["a", "urgent"]);
  });

  test("nor while others could go", async () => {
    const { rig } = await begun([...CHAIN, task("d")]);
    rig.machine.at("a").succeeds();
    expect(rig.machine.started).toEqual(["a"]);
  });

  /** What comes in then, nobody could know when it was begun; and then there is somebody else who could go. */
  const changed = async (change: (rig: Rig, run: Run) => Promise<unknown>): Promise<{ rig: Rig; run: Run }> => {
    const { rig, run } = await begun();
    rig.machine.at("a").succeeds();
    const done = change(rig, run);
    await rig.submit([task("d")], { id: runId("other") });
    await done;
    return { rig, run };
  };

  test("where it has become something else in that very moment it is ended, and its number is not used", async () => {
    const edit = { run: { shell: "other" } };
    const { rig, run } = await changed((each, of) => each.engine.reception.edit(of, find(of, "b"), edit, { by: "mo" }));
    expect(rig.machine.at("b").stops).toEqual([{ reason: { kind: "shutdown" }, grace: millis(0) }]);
    // Until nothing is left of it nobody goes: it might be what comes next.
    expect([rig.machine.running, await kinds(rig, run, "b")]).toEqual([["b"], ["edited", "voided"]]);
    rig.machine.at("b").obeys();
    await rig.clock.settle();
    const { fence, command } = rig.machine.at("b").attempt;
    expect([fence, command]).toEqual([2, { shell: "other" }]);
    expect(await kinds(rig, run, "b")).toEqual(["edited", "voided", "claimed"]);
    expect(await replayAll(rig.store)).toEqual([]);
  });

  test("whoever waits for the end of the run goes on waiting then", async () => {
    const { rig, run } = await begun();
    const ended = Promise.race([rig.engine.idle(run), rig.clock.settle().then(() => "goes on")]);
    rig.machine.at("a").succeeds();
    void rig.engine.reception.edit(run, find(run, "b"), { run: { shell: "other" } }, { by: "mo" });
    expect(await ended).toBe("goes on");
    expect([rig.machine.running, statesOf(run)["b"]]).toEqual([["b"], "ready"]);
  });

  test("and so it is where everything is to stop", async () => {
    const { rig, run } = await begun();
    rig.machine.at("a").succeeds();
    rig.engine.stopAll();
    await rig.clock.settle();
    expect(rig.machine.at("b").stops).toEqual([{ reason: { kind: "shutdown" }, grace: millis(0) }]);
    rig.machine.at("b").obeys();
    await rig.clock.settle();
    expect([rig.machine.started, statesOf(run)]).toEqual([["a", "b"], { a: "succeeded", b: "ready", c: "blocked" }]);
  });

  test("one that cannot be begun for a fault of the executor ends the engine, as in a turn", async () => {
    const { rig } = await begun();
    vi.spyOn(rig.machine.processes, "push").mockImplementation(() => {
      throw new Error("out of files");
    });
    const failed = expect(rig.engine.failed).rejects.toThrow("out of files");
    expect(() => rig.machine.at("a").succeeds()).not.toThrow();
    await failed;
  });

  test("and so it is where it is put on hold then", async () => {
    const scope = (run: Run) => ({ of: "task", run: run.no, task: find(run, "b").no }) as const;
    const { rig, run } = await changed((each, of) => each.engine.reception.hold(scope(of), { by: "mo" }));
    expect([rig.machine.running, rig.machine.at("b").stops.length, statesOf(run)]).toEqual([
      ["b"],
      1,
      { a: "succeeded", b: "ready", c: "blocked" },
    ]);
    rig.machine.at("b").obeys();
    await rig.clock.settle();
    // The other one may go, and it may not.
    expect([rig.machine.running, await kinds(rig, run, "b")]).toEqual([["d"], ["voided"]]);
  });

  test("a scheduler that dies then is followed by one that goes on with it", async () => {
    const { rig, run: before } = await begun();
    rig.machine.at("a").succeeds();
    rig.crash();
    await rig.boot();
    const run = await rig.promised(rig.engine.resume(before.no));
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed", c: "blocked" });
    expect(rig.machine.processes.map(({ attempt: { task: id, fence } }) => `${id}#${fence}`)).toEqual(["a#1", "b#1"]);
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

  test("and that has saved how it ended when it says that it goes on with the run", async () => {
    const { rig, run: before } = await atWork();
    await takenOver(rig);
    rig.machine.at("b").succeeds();
    const saved = rig.engine.resume(before.no).then((run) => rig.eventsOf(run, "b"));
    expect((await rig.promised(saved)).map(({ kind }) => kind)).toEqual(["claimed", "succeeded"]);
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

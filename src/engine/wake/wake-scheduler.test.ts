import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { find, openRig, type Rig, statesOf } from "../../../test/rig/rig.ts";
import {
  agentTask,
  BACK,
  Bell,
  claim,
  claimed,
  count,
  cycleOf,
  join,
  refusal,
  report,
  waiting,
} from "../../../test/rig/sessions.ts";
import { runId, taskId } from "../../domain/ids.ts";
import { millis, minutes, seconds } from "../../domain/time.ts";
import { promisesDrained } from "../../effects/clock.ts";
import type { WakeTurn } from "./wake-port.ts";
import type { WakeOptions } from "./wake-scheduler.ts";
import { WakeScheduler } from "./wake-scheduler.ts";

async function house(options: WakeOptions = {}) {
  const rig = await openRig();
  const bell = new Bell();
  const cycle = cycleOf(rig, bell, options);
  return { rig, bell, cycle, once: () => rig.promised(cycle.runOnce()) };
}

const exact = (rig: Rig, session: string, id: string) => claim(rig, session, { run: runId("run-1"), task: taskId(id) });

describe("a cycle", () => {
  test("says what it saw and did, in numbers and names", async () => {
    const { rig, once } = await house();
    await rig.submit([
      agentTask("a", { priority: "high" }),
      agentTask("b", { requires: ["gpu"] }),
      agentTask("c", { writes: ["x"] }),
      agentTask("d", { writes: ["x"], priority: "critical" }),
    ]);
    await join(rig, "s1", { ttl: seconds(60) });
    await join(rig, "s2");
    expect((await claimed(rig, "s1")).task.spec.id).toBe("d");
    expect(await once()).toEqual({
      at: rig.clock.now(),
      paused: false,
      pending: 3,
      active: 1,
      sessions: 2,
      recovered: [],
      woken: [{ task: "run-1/a", session: "s2" }],
      wakeFailures: 0,
      noMatch: ["run-1/b"],
      unclaimable: 0,
      recentlyNotified: 0,
      capacity: 1,
      cooling: 0,
      starved: [],
      spawned: [],
      parked: [],
      recoveryErrors: [],
      wakeErrors: [],
      errors: [],
    });
  });

  test("sweeps before it looks: what has run out is offered in the same cycle, and the sweep has a limit", async () => {
    for (const [sweepLimit, swept] of [
      [2, 2],
      [0, 3],
      [100, 3],
    ] as const) {
      const { rig, bell, cycle } = await house({ sweepLimit });
      const run = await rig.submit(["a", "b", "c"].map((id) => agentTask(id)));
      for (const id of ["s1", "s2", "s3"]) {
        await join(rig, id, { ttl: seconds(60) });
        await claimed(rig, id);
      }
      await join(rig, "s4");
      await rig.clock.advance(59_000);
      const once = cycle.runOnce();
      await rig.clock.sleep(seconds(5));
      expect((await rig.promised(once)).recovered).toEqual(["run-1/a", "run-1/b", "run-1/c"].slice(0, swept));
      expect(bell.heard()).toEqual(["s4: a"]);
      expect(run.counts.ready).toBe(3);
    }
  });

  test("does not take for lost what has ended here meanwhile, although no turn has seen that yet", async () => {
    const { rig, cycle } = await house();
    const run = await rig.submit([task("a")]);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    // The program stands still for so long that every lease is over, and hears of everything at once.
    const once = cycle.runOnce();
    rig.clock.spend(minutes(30));
    rig.machine.at("a").succeeds();
    expect(await rig.promised(once)).toMatchObject({ recovered: [] });
    expect([statesOf(run), rig.machine.started]).toEqual([{ a: "succeeded" }, ["a"]]);
  });

  test("goes on when the sweep goes wrong, and says so", async () => {
    const { clock } = await openRig();
    const turn: WakeTurn = {
      now: clock.now(),
      paused: false,
      sweep: () => {
        throw new Error("the disk is slow");
      },
      pending: () => [],
      pendingCount: () => 7,
      offered: () => [],
      active: () => 2,
      wakeable: () => [],
      sessions: () => 3,
      choose: () => undefined,
      fit: () => "none",
      suited: () => [],
      isPaused: () => false,
      write: () => {},
    };
    const bell = new Bell();
    const cycle = new WakeScheduler({ clock, durably: async (change) => change(turn), waker: bell, spawn: bell.spawn });
    expect(await cycle.runOnce()).toMatchObject({ recovered: [], pending: 7, errors: ["sweep: the disk is slow"] });
    const said = "sweep: the disk is slow";
    expect(cycle.stats()).toMatchObject({ cycles: 1, recoveryErrors: 1, lastRecoveryError: said, lastError: said });
    expect(cycle.stats()).not.toHaveProperty("lastWakeError");
  });

  test("wakes each session once, each for a task of its own, all in one call", async () => {
    const { rig, bell, once } = await house();
    await rig.submit([agentTask("a"), agentTask("b"), agentTask("c", { requires: ["gpu"] }), task("local")]);
    await join(rig, "s1");
    await join(rig, "s2", { capabilities: ["gpu"] });
    await join(rig, "s3", { pool: "others" });
    await once();
    expect(bell.calls.length).toBe(1);
    expect(bell.heard()).toEqual(["s1: a", "s2: b"]);
    await once();
    expect(bell.heard()).toEqual([]);
  });

  test("leaves those alone who are busy, wait for a person, are waiting already, or cannot be reached", async () => {
    const { rig, bell } = await house();
    const cycle = rig.engine.cycle({ waker: bell, spawn: bell.spawn, reaches: ({ profile }) => profile.id !== "far" });
    for (const id of ["busy", "prompting", "far", "holds"]) await join(rig, id);
    await join(rig, "waits", { capabilities: ["x"], workspace: "/w" });
    await rig.promised(rig.engine.api.beat("busy", "busy"));
    await rig.promised(rig.engine.api.beat("prompting", "prompting"));
    await rig.submit(["a", "b"].map((id) => agentTask(id)));
    await claimed(rig, "holds");
    await waiting(rig, "waits");
    expect((await rig.promised(cycle.runOnce())).woken).toEqual([]);
    await join(rig, "here");
    await rig.promised(cycle.runOnce());
    expect(bell.heard()).toEqual(["here: b"]);
  });
});

describe("an offer", () => {
  test("keeps the task for its session for 30 seconds; it comes first when that session claims", async () => {
    const { rig, once } = await house();
    const run = await rig.submit([agentTask("a", { priority: "low" })]);
    await join(rig, "s1");
    await join(rig, "s2");
    await once();
    expect(find(run, "a").offer).toEqual({ session: "s1", until: rig.clock.now() + 30_000 });
    expect(await claim(rig, "s2")).toBeUndefined();
    expect(await refusal(exact(rig, "s2", "a"))).toBe("NOT_CLAIMABLE");
    await rig.clock.advance(30_000);
    expect(await refusal(exact(rig, "s2", "a"))).toBe("NOT_CLAIMABLE");
    await rig.submit([agentTask("urgent", { priority: "critical" })], { id: runId("run-2") });
    expect((await claimed(rig, "s1")).task.spec.id).toBe("a");
  });

  test("does not stand for another run, or for something more urgent than it, when that is asked for", async () => {
    const { rig, once } = await house();
    await rig.submit([agentTask("a", { priority: "low" })]);
    await join(rig, "s1");
    await once();
    const other = await rig.submit([agentTask("b")], { id: runId("run-2") });
    expect((await claimed(rig, "s1", { run: other.manifest.id })).task.spec.id).toBe("b");
    await join(rig, "s1", { slots: 2 });
    expect(await claim(rig, "s1", { priority: "high" })).toBeUndefined();
    expect((await claimed(rig, "s1")).task.spec.id).toBe("a");
  });

  test("that no session took up is over a moment after its time, counts as ignored, and the next one is asked", async () => {
    const { rig, bell, cycle } = await house();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await join(rig, "s2");
    cycle.start();
    cycle.nudge();
    await rig.clock.settle();
    expect(bell.heard()).toEqual(["s1: a"]);
    await rig.clock.advance(30_001);
    expect(bell.heard()).toEqual(["s2: a"]);
    expect(find(run, "a").ignored).toBe(1);
    expect((await rig.eventsOf(run, "a")).map(({ kind }) => kind)).toEqual([
      "waiting",
      "offered",
      "offer_ended",
      "offered",
    ]);
  });

  test("goes with the session that leaves, and counts against no session", async () => {
    const { rig, bell, once } = await house();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await join(rig, "s2");
    await once();
    await rig.promised(rig.engine.api.leave("s1", "enough"));
    expect(find(run, "a")).not.toHaveProperty("offer");
    expect(find(run, "a")).not.toHaveProperty("ignored");
    await once();
    expect(bell.heard()).toEqual(["s1: a", "s2: a"]);
  });

  test("survives a restart", async () => {
    const { rig, once } = await house();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await join(rig, "s2");
    await once();
    rig.crash();
    await rig.resume(run.no);
    expect(await claim(rig, "s2")).toBeUndefined();
    expect((await claimed(rig, "s1")).task.spec.id).toBe("a");
  });
});

describe("a wake that fails", () => {
  test("is told for its target alone; the others are woken, and the task is free at once", async () => {
    const { rig, bell, once, cycle } = await house();
    const run = await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1");
    await join(rig, "s2");
    bell.answer = async (targets) =>
      targets.map(({ session }) => (session === "s1" ? new Error("no line") : undefined));
    expect(await once()).toMatchObject({
      woken: [{ task: "run-1/b", session: "s2" }],
      wakeFailures: 1,
      errors: ["s1: no line"],
    });
    expect(find(run, "a")).not.toHaveProperty("offer");
    expect(find(run, "a")).not.toHaveProperty("ignored");
    expect(cycle.stats()).toMatchObject({ wakes: 1, wakeFailures: 1, lastWakeError: "s1: no line" });
    expect(cycle.stats()).not.toHaveProperty("lastRecoveryError");
    bell.answer = async (targets) => targets.map(() => undefined);
    bell.heard();
    await once();
    expect(bell.heard()).toEqual(["s1: a"]);
  });

  test.each([
    ["does not answer for all", async () => []],
    ["breaks", async () => Promise.reject(new Error("no line"))],
  ])("as a whole, when the waker %s, wakes no session and breaks nothing", async (_, answer) => {
    const { rig, bell, once } = await house();
    await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1");
    await join(rig, "s2");
    bell.answer = answer;
    expect(await once()).toMatchObject({ woken: [], wakeFailures: 2 });
    expect((await claimed(rig, "s2")).task.spec.id).toBe("a");
  });
});

describe("after a wake", () => {
  test("the session is left alone for 60 seconds with this task, but not with others", async () => {
    const { rig, bell, once } = await house();
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await once();
    await rig.clock.advance(31_000);
    await once();
    expect(bell.heard()).toEqual(["s1: a"]);
    await rig.submit([agentTask("b")], { id: runId("run-2") });
    await once();
    expect(bell.heard()).toEqual(["s1: b"]);
    await rig.clock.advance(31_000);
    await once();
    expect(bell.heard()).toEqual(["s1: a"]);
  });

  test("it is left alone with this task although it had it meanwhile", async () => {
    const { rig, bell, once } = await house();
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await once();
    const granted = await claimed(rig, "s1");
    await once();
    await report(rig, granted, BACK);
    await once();
    expect(bell.heard()).toEqual(["s1: a"]);
  });

  test("with a cooldown of 0 it is woken again as soon as the offer is over", async () => {
    const { rig, bell, once } = await house({ cooldown: millis(0) });
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await once();
    await rig.clock.advance(30_001);
    await once();
    expect(bell.heard()).toEqual(["s1: a", "s1: a"]);
  });

  test("keeps an offered task from a session that names it, and no longer than the offer lasts", async () => {
    const { rig, bell, once } = await house();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await once();
    expect(bell.heard()).toEqual(["s1: a"]);
    await join(rig, "s2");
    const wanted = { run: run.manifest.id, task: taskId("a") };
    await expect(claim(rig, "s2", wanted)).rejects.toMatchObject({ code: "NOT_CLAIMABLE" });
    await rig.clock.advance(30_001);
    expect((await claimed(rig, "s2", wanted)).task).toBe(find(run, "a"));
  });

  test("rebuild forgets the cooldowns and nothing else, and says how much that was", async () => {
    const { rig, bell, cycle, once } = await house();
    const run = await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1");
    await join(rig, "s2");
    await once();
    await claimed(rig, "s1");
    const before = await rig.kinds();
    expect(await rig.promised(cycle.rebuild())).toEqual({
      pending: 1,
      active: 1,
      sessions: 2,
      clearedWakes: 2,
      at: rig.clock.now(),
    });
    expect(await rig.kinds()).toEqual(before);
    expect(find(run, "b").offer?.session).toBe("s2");
    expect(cycle.stats()).toMatchObject({ rebuilds: 1, lastRebuildAt: rig.clock.now() });
    await rig.clock.advance(30_001);
    bell.heard();
    await once();
    expect(bell.heard()).toEqual(["s2: b"]);
  });
});

describe("between the choice and the wake", () => {
  test("a session may come for it: then no session is woken, and the report names none", async () => {
    const { rig, bell, cycle } = await house();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const once = cycle.runOnce();
    await promisesDrained();
    const mine = rig.engine.api.claim({ session: "s1", wait: millis(0) });
    expect(await rig.promised(once)).toMatchObject({ woken: [], wakeFailures: 0 });
    expect((await mine)?.task).toBe(find(run, "a"));
    expect(bell.calls).toEqual([]);
  });
});

describe("a scheduler that is paused", () => {
  test("sweeps, and neither wakes nor climbs; offers are taken back", async () => {
    const { rig, bell, once } = await house();
    const run = await rig.submit([agentTask("a"), agentTask("b"), agentTask("c", { requires: ["gpu"] })]);
    await join(rig, "s1", { ttl: minutes(1) });
    await join(rig, "s2");
    await claimed(rig, "s1");
    await once();
    bell.heard();
    await rig.promised(rig.engine.api.hold({ of: "scheduler" }, { by: "mo" }));
    expect(await once()).toMatchObject({ paused: true, woken: [], noMatch: [], capacity: 0, pending: 2 });
    expect(find(run, "b")).not.toHaveProperty("offer");
    expect(find(run, "b")).not.toHaveProperty("ignored");
    await rig.clock.advance(600_000);
    await once();
    expect(statesOf(run)).toEqual({ a: "ready", b: "ready", c: "ready" });
    expect(await count(rig, run, "a", "expired")).toBe(1);
    expect(await count(rig, run, "c", "starving")).toBe(0);
    expect(bell.calls).toEqual([]);
  });
});

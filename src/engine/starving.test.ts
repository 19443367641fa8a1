import { describe, expect, test } from "vitest";
import { find, openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import {
  agentTask,
  Bell,
  claim,
  claimed,
  count,
  cycleOf,
  DONE,
  join,
  profile,
  report,
} from "../../test/rig/sessions.ts";
import { runId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { millis, minutes, seconds } from "../domain/time.ts";
import type { WakeOptions, WakeScheduler } from "./wake/wake-scheduler.ts";

const AGE = 120_000;
const INTERVAL = 15_000;

/** A run for which no session comes, and a cycle that looks every 15 seconds when the test says so. */
async function alone(specs: readonly TaskSpec[] = [agentTask("a")], options: WakeOptions = {}) {
  const rig = await openRig();
  const bell = new Bell();
  const run = await rig.submit(specs);
  const cycle = cycleOf(rig, bell, options);
  return { rig, bell, run, cycle };
}

/** This many cycles, each an interval after the one before. */
async function cycles(rig: Rig, cycle: WakeScheduler, times: number): Promise<void> {
  for (let time = 0; time < times; time++) {
    await rig.clock.advance(INTERVAL);
    await rig.promised(cycle.runOnce());
  }
}
const countOf = (run: Run, id = "a") => find(run, id).starving?.count ?? 0;

describe("a task for which no session comes", () => {
  test("is left alone for two minutes", async () => {
    const { rig, run, cycle } = await alone();
    await rig.clock.advance(AGE - 1);
    await rig.promised(cycle.runOnce());
    expect(countOf(run)).toBe(0);
    await rig.clock.advance(1);
    await rig.promised(cycle.runOnce());
    expect(countOf(run)).toBe(1);
  });

  test("climbs: a worker is asked for at 4, it is told at 6, it is parked at 10 with a diagnosis", async () => {
    const { rig, bell, run, cycle } = await alone();
    await rig.clock.advance(AGE - INTERVAL);
    const seen: string[] = [];
    for (let at = 1; at <= 10; at++) {
      await cycles(rig, cycle, 1);
      const kinds = (await rig.eventsOf(run, "a"))
        .map(({ kind }) => kind)
        .filter((kind) => kind !== "starving" && kind !== "waiting");
      seen.push(kinds.join(" "));
    }
    const asked = "spawn_asked";
    expect(seen).toEqual(["", "", "", asked, asked, ...Array(4).fill(`${asked} starved`), `${asked} starved parked`]);
    expect(bell.asked).toEqual(["a"]);
    expect(find(run, "a").status).toMatchObject({
      state: "parked",
      reason: "starved",
      message: "No session came for it in 4m15s, after 10 cycles",
    });
    expect(run.status.state).toBe("stalled");
    expect(cycle.stats()).toMatchObject({ spawned: 1, starved: 1, parked: 1 });
  });

  test("is parked and told of also when no worker can be had: that is remembered as not asked, and asked again", async () => {
    const { rig, bell, run, cycle } = await alone();
    bell.spawns = async () => (bell.asked.length === 2 ? Promise.reject(new Error("no room")) : false);
    await rig.clock.advance(AGE - INTERVAL);
    await cycles(rig, cycle, 4);
    expect(find(run, "a").starving).not.toHaveProperty("spawned");
    await cycles(rig, cycle, 1);
    expect(cycle.stats().lastError).toBe("run-1/a: no room");
    await cycles(rig, cycle, 5);
    expect(bell.asked.length).toBe(6);
    expect(await count(rig, run, "a", "spawn_asked")).toBe(0);
    expect(await count(rig, run, "a", "starved")).toBe(1);
    expect(statesOf(run)).toEqual({ a: "parked" });
  });

  test("has its own steps where others are asked for", async () => {
    const { rig, run, bell, cycle } = await alone([agentTask("a")], {
      starvingAge: seconds(10),
      ladder: { fanOut: 1, spawn: 1, event: 1, park: 2 },
    });
    await cycles(rig, cycle, 1);
    expect([bell.asked, countOf(run), find(run, "a").starving?.told]).toEqual([["a"], 1, true]);
    await cycles(rig, cycle, 1);
    expect(statesOf(run)).toEqual({ a: "parked" });
  });

  test("asks for no more workers in one cycle than there is room for; the others ask in the next", async () => {
    const ids = Array.from({ length: 11 }, (_, at) => `t${at}`);
    const { rig, bell, cycle } = await alone(ids.map((id) => agentTask(id)));
    await rig.clock.advance(AGE);
    await cycles(rig, cycle, 4);
    expect(bell.asked.length).toBe(8);
    await cycles(rig, cycle, 1);
    expect(new Set(bell.asked)).toEqual(new Set(ids));
    expect(bell.asked.length).toBe(11);
  });

  test("climbs in a pool that pushes too", async () => {
    const rig = await openRig({ modes: { agents: "push" } });
    const run = await rig.submit([agentTask("a", { requires: ["gpu"] }), agentTask("b")]);
    await join(rig, "s1");
    await rig.clock.advance(AGE);
    await cycles(rig, cycleOf(rig, new Bell()), 10);
    expect(statesOf(run)).toMatchObject({ a: "parked" });
  });

  test("goes on where it was after a restart, and what was asked or told is not asked or told again", async () => {
    const { rig, bell, run, cycle } = await alone();
    await rig.clock.advance(AGE - INTERVAL);
    await cycles(rig, cycle, 6);
    const before = find(run, "a").starving;
    expect(before).toMatchObject({ count: 6, spawned: true, told: true });
    rig.crash();
    const again = await rig.resume(run.no);
    expect(find(again, "a").starving).toEqual(before);
    await cycles(rig, cycleOf(rig, bell), 4);
    expect(bell.asked).toEqual(["a"]);
    expect(await count(rig, again, "a", "starved")).toBe(1);
    expect(statesOf(again)).toEqual({ a: "parked" });
  });
});

describe("an offer that is ignored", () => {
  test("climbs once, also over a restart", async () => {
    const { rig, bell, run, cycle } = await alone();
    await rig.clock.advance(AGE);
    for (const id of ["s1", "s2"]) await join(rig, id, { ttl: minutes(60) });
    await rig.promised(cycle.runOnce());
    expect(countOf(run)).toBe(0);
    await rig.clock.advance(30_001);
    await rig.promised(cycle.runOnce());
    expect([countOf(run), bell.heard()]).toEqual([1, ["s1: a", "s2: a"]]);
    rig.crash();
    const again = await rig.resume(run.no);
    await rig.promised(cycleOf(rig, bell).runOnce());
    expect(countOf(again)).toBe(1);
  });

  test("has others woken beside the next one from the second on, and then the first who comes has it", async () => {
    const { rig, bell, run, cycle } = await alone();
    await rig.clock.advance(AGE);
    const ids = Array.from({ length: 12 }, (_, at) => `s${at + 1}`);
    for (const id of ids) await join(rig, id, { ttl: minutes(60) });
    const step = async (): Promise<readonly string[]> => {
      await rig.promised(cycle.runOnce());
      return bell.heard();
    };
    expect(await step()).toEqual(["s1: a"]);
    await rig.clock.advance(30_001);
    expect(await step()).toEqual(["s2: a"]);
    await rig.clock.advance(30_001);
    // The number is bounded; the first two were woken a moment ago, or half a minute ago.
    expect(await step()).toEqual(["s1", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10"].map((id) => `${id}: a`));
    expect(find(run, "a")).not.toHaveProperty("offer");
    expect((await claimed(rig, "s9")).task.spec.id).toBe("a");
  });

  test("climbs while every session that could come has been woken in vain", async () => {
    const { rig, run, cycle } = await alone();
    await join(rig, "s1", { ttl: minutes(60) });
    await rig.clock.advance(AGE);
    await cycles(rig, cycle, 45);
    expect(await count(rig, run, "a", "parked")).toBe(1);
  });
});

describe("no task climbs", () => {
  test("while all who could come are busy", async () => {
    const { rig, run, cycle } = await alone([agentTask("a"), agentTask("b")]);
    await join(rig, "s1", { ttl: minutes(600) });
    await claimed(rig, "s1");
    await rig.clock.advance(AGE);
    await cycles(rig, cycle, 20);
    expect(countOf(run, "b")).toBe(0);
    expect(await rig.promised(cycle.runOnce())).toMatchObject({ capacity: 1, noMatch: [], cooling: 0 });
  });

  test("while a session does one after the other, however many there are", async () => {
    const { rig, run, cycle } = await alone(Array.from({ length: 20 }, (_, at) => agentTask(`t${at}`)));
    await rig.clock.advance(AGE);
    await join(rig, "s1", { ttl: minutes(600) });
    for (let done = 0; done < 19; done++) {
      await rig.promised(cycle.runOnce());
      await report(rig, await claimed(rig, "s1"), DONE);
      await rig.clock.advance(INTERVAL);
    }
    expect(run.tasks.filter(({ starving }) => starving !== undefined)).toEqual([]);
    expect(run.counts).toMatchObject({ succeeded: 19, parked: 0 });
  });

  test("while its files, or the plan's own resources, are taken", async () => {
    const { rig, run, cycle } = await alone([agentTask("a", { writes: ["x"] }), agentTask("b", { writes: ["x"] })]);
    for (const id of ["s1", "s2"]) await join(rig, id, { ttl: minutes(600) });
    await claimed(rig, "s1");
    await rig.clock.advance(AGE);
    await cycles(rig, cycle, 20);
    expect(countOf(run, "b")).toBe(0);
  });

  test("while it is on hold, and its clock stands still meanwhile", async () => {
    const { rig, run, cycle } = await alone([agentTask("a"), agentTask("b")]);
    const asked = { by: "mo" };
    const scope = { of: "task", run: run.no, task: find(run, "a").no } as const;
    await rig.clock.advance(AGE - 1_000);
    await rig.promised(rig.engine.api.hold(scope, asked));
    await cycles(rig, cycle, 3);
    expect([countOf(run, "a"), countOf(run, "b")]).toEqual([0, 3]);
    await rig.promised(rig.engine.api.letGo(scope, asked));
    await rig.clock.advance(999);
    await rig.promised(cycle.runOnce());
    expect(countOf(run, "a")).toBe(0);
    await rig.clock.advance(1);
    await rig.promised(cycle.runOnce());
    expect(countOf(run, "a")).toBe(1);
  });

  test("for as long as it was on hold, also when it was changed since", async () => {
    const { rig, run, cycle } = await alone();
    const asked = { by: "mo" };
    const scope = { of: "run", run: run.no } as const;
    await rig.promised(rig.engine.api.hold(scope, asked));
    await rig.clock.advance(AGE);
    await rig.promised(rig.engine.api.letGo(scope, asked));
    await rig.promised(rig.engine.api.edit(run, find(run, "a"), { priority: "high" }, asked));
    await rig.clock.advance(AGE - 1);
    await rig.promised(cycle.runOnce());
    expect(countOf(run)).toBe(0);
    await rig.clock.advance(1);
    await rig.promised(cycle.runOnce());
    expect(countOf(run)).toBe(1);
  });

  test("and the clock of one on hold stands still over a restart, and under two pauses at once", async () => {
    const { rig, run } = await alone();
    const asked = { by: "mo" };
    const scopes = [{ of: "run", run: run.no }, { of: "scheduler" }] as const;
    await rig.clock.advance(60_000);
    await rig.promised(rig.engine.api.hold(scopes[0], asked));
    await rig.clock.advance(60_000);
    rig.crash();
    const again = await rig.resume(run.no);
    await rig.promised(rig.engine.api.hold(scopes[1], asked));
    await rig.clock.advance(600_000);
    for (const scope of scopes) await rig.promised(rig.engine.api.letGo(scope, asked));
    const cycle = cycleOf(rig, new Bell());
    await rig.clock.advance(59_999);
    await rig.promised(cycle.runOnce());
    expect(countOf(again)).toBe(0);
    await rig.clock.advance(1);
    await rig.promised(cycle.runOnce());
    expect(countOf(again)).toBe(1);
  });

  test("because something else was put on hold: its own clock goes on", async () => {
    const { rig, run, cycle } = await alone();
    await join(rig, "s1", { ttl: minutes(600) });
    await rig.promised(cycle.runOnce());
    await rig.clock.advance(29_000);
    await rig.promised(rig.engine.api.hold({ of: "pool", pool: "others" }, { by: "mo" }));
    await rig.clock.advance(AGE - 29_000);
    await rig.promised(cycle.runOnce());
    expect(countOf(run)).toBe(1);
  });
});

describe("a side effect", () => {
  test("is not taken when a session has come meanwhile: no worker is asked for", async () => {
    const { rig, bell, run, cycle } = await alone([agentTask("a"), agentTask("b")]);
    await rig.clock.advance(AGE - INTERVAL);
    await cycles(rig, cycle, 3);
    bell.spawns = async ({ task }) => {
      // While a worker for the first is being started, a session comes and takes the second.
      if (task.spec.id === "a") {
        const { api } = rig.engine;
        await api.join(profile("s2"));
        await api.claim({ session: "s2", run: runId("run-1"), task: find(run, "b").spec.id, wait: millis(0) });
      }
      return true;
    };
    await cycles(rig, cycle, 1);
    expect(bell.asked).toEqual(["a"]);
    expect(await count(rig, run, "b", "spawn_asked")).toBe(0);
  });

  test("is not taken when it was put on hold meanwhile", async () => {
    const { rig, bell, cycle } = await alone([agentTask("a"), agentTask("b")]);
    await rig.clock.advance(AGE - INTERVAL);
    await cycles(rig, cycle, 3);
    bell.spawns = async () => {
      await rig.engine.api.hold({ of: "scheduler" }, { by: "mo" });
      return true;
    };
    await cycles(rig, cycle, 1);
    expect(bell.asked).toEqual(["a"]);
  });
});

describe("what was parked because no session came", () => {
  async function parked() {
    const made = await alone([agentTask("a", { requires: ["gpu"] })]);
    await made.rig.clock.advance(AGE);
    await cycles(made.rig, made.cycle, 10);
    expect(statesOf(made.run)).toEqual({ a: "parked" });
    return made;
  }

  test("goes back into the queue when it is asked for: at no cost, with a fresh ladder", async () => {
    const { rig, run, cycle } = await parked();
    await rig.ask({ kind: "requeue", run: run.manifest.id });
    expect(find(run, "a")).toMatchObject({
      status: { state: "ready", since: rig.clock.now() },
      attempt: 0,
      failures: 0,
    });
    expect(find(run, "a")).not.toHaveProperty("starving");
    expect(run.status.state).toBe("active");
    await cycles(rig, cycle, 7);
    expect(countOf(run)).toBe(0);
    await join(rig, "s1", { capabilities: ["gpu"] });
    await report(rig, await claimed(rig, "s1"), DONE);
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
  });

  test("goes on when it is edited: then a session may be able to do it", async () => {
    const { rig, run } = await parked();
    await join(rig, "s1");
    expect(await claim(rig, "s1")).toBeUndefined();
    await rig.promised(rig.engine.api.edit(run, find(run, "a"), { requires: [] }, { by: "mo", why: "no need" }));
    expect(run.status.state).toBe("active");
    await report(rig, await claimed(rig, "s1"), DONE);
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
  });

  test("ends when it is cancelled", async () => {
    const { rig, run } = await parked();
    await rig.ask({ kind: "cancel", run: run.manifest.id });
    expect(run.status).toMatchObject({ state: "finished", outcome: "cancelled" });
  });

  test("is still there after a restart, with what was said of it", async () => {
    const { rig, run } = await parked();
    const before = find(run, "a").status;
    rig.crash();
    expect(find(await rig.resume(run.no), "a").status).toEqual(before);
  });
});

test("a cycle of an age of 0 climbs at once", async () => {
  const { rig, run, cycle } = await alone([agentTask("a")], { starvingAge: millis(0) });
  await rig.promised(cycle.runOnce());
  expect(countOf(run)).toBe(1);
});

import { describe, expect, test } from "vitest";
import { find, openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import {
  agentTask,
  BEAT,
  Bell,
  claim,
  claimed,
  count,
  cycleOf,
  DONE,
  join,
  refusal,
  report,
} from "../../test/rig/sessions.ts";
import { runId, taskId, workerId } from "../domain/ids.ts";
import type { Held } from "../domain/task.ts";
import { minutes, seconds } from "../domain/time.ts";
import type { LeaseGrant } from "./sessions/claim.ts";

const assignment = (rig: Rig, session: string, wait = 0): Promise<LeaseGrant | undefined> =>
  rig.promised(rig.engine.api.assignment({ session, wait: seconds(wait) }));

/** Waits for an assignment; told is what came of it so far. */
async function listens(rig: Rig, session: string) {
  const call = { told: [] as (string | undefined)[] };
  void rig.engine.api
    .assignment({ session, wait: minutes(10) })
    .then((granted) => call.told.push(granted?.task.spec.id));
  await rig.clock.settle();
  return call;
}

describe("a pool that pushes", () => {
  const open = () => openRig({ modes: { agents: "push" } });

  test("assigns by itself: every idle session as much as it has slots for, and tells who waits", async () => {
    const rig = await open();
    await join(rig, "s1", { slots: 2 });
    await join(rig, "s2");
    const call = await listens(rig, "s2");
    const run = await rig.submit(["a", "b", "c", "d"].map((id) => agentTask(id)));
    const holders = run.tasks.map(({ status }) => ("lease" in status ? status.lease.worker : status.state));
    expect(holders).toEqual(["s1", "s1", "s2", "ready"].map(workerId));
    expect(call.told).toEqual(["c"]);
    expect((await assignment(rig, "s1"))?.task.spec.id).toBe("a");
  });

  test("refuses who would serve itself", async () => {
    const rig = await open();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { workspace: "/elsewhere" });
    expect(await refusal(claim(rig, "s1"))).toBe("SELF_CLAIM_DISABLED");
    expect(await refusal(claim(rig, "s1", { run: run.manifest.id, task: taskId("a"), wait: seconds(5) }))).toBe(
      "SELF_CLAIM_DISABLED",
    );
    expect(statesOf(run)).toEqual({ a: "ready" });
  });

  test("takes back what is not begun within 10 seconds, at no cost, and gives it to another session", async () => {
    const rig = await open();
    await join(rig, "s1");
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s2");
    await rig.clock.advance(10_000);
    expect(find(run, "a").status).toMatchObject({ state: "claimed", lease: { worker: "s1" } });
    await rig.clock.advance(1);
    expect(find(run, "a")).toMatchObject({
      status: { state: "claimed", lease: { worker: "s2", fence: 2 } },
      failures: 0,
      expiries: 0,
    });
    expect(rig.engine.world.sessions.get(workerId("s1"))).toMatchObject({ state: "stalled", losses: 0 });
    await rig.clock.advance(10_001);
    expect(statesOf(run)).toEqual({ a: "ready" });
    await rig.promised(rig.engine.api.beat("s1", undefined));
    expect(find(run, "a").status).toMatchObject({ lease: { worker: "s1", fence: 3 } });
  });

  test("has its time from the settings", async () => {
    const rig = await openRig({ modes: { agents: "push" }, ack: seconds(3) });
    await join(rig, "s1");
    const run = await rig.submit([agentTask("a")]);
    await rig.clock.advance(3_001);
    expect(statesOf(run)).toEqual({ a: "ready" });
  });

  test("leaves what was begun in time with its session, for its whole span", async () => {
    const rig = await open();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const granted = (await assignment(rig, "s1")) as LeaseGrant;
    await rig.clock.advance(9_000);
    await report(rig, granted, { kind: "start" });
    await rig.clock.advance(299_000);
    await report(rig, granted, BEAT);
    await report(rig, granted, DONE);
    expect(statesOf(run)).toEqual({ a: "succeeded" });
  });

  test("assigns nothing to a session that is busy, waits for a person, or cannot do it, and wakes no session", async () => {
    const rig = await open();
    for (const id of ["busy", "prompting"] as const) {
      await join(rig, id);
      await rig.promised(rig.engine.api.beat(id, id));
    }
    await join(rig, "unable", { workspace: "/w" });
    const run = await rig.submit([agentTask("a")]);
    const bell = new Bell();
    expect(await rig.promised(cycleOf(rig, bell).runOnce())).toMatchObject({ woken: [], pending: 1, capacity: 1 });
    expect(statesOf(run)).toEqual({ a: "ready" });
    await rig.promised(rig.engine.api.beat("busy", "idle"));
    expect(statesOf(run)).toEqual({ a: "claimed" });
  });

  test("gives an assignment that was not begun back after a restart", async () => {
    const rig = await open();
    await join(rig, "s1");
    const run = await rig.submit([agentTask("a")]);
    rig.crash();
    await rig.clock.advance(5_000);
    const again = await rig.resume(run.no);
    expect(statesOf(again)).toEqual({ a: "claimed" });
    await rig.clock.advance(5_001);
    expect(await count(rig, again, "a", "released")).toBe(1);
  });
});

describe("a pool of both kinds", () => {
  const open = () => openRig({ modes: { agents: "hybrid" } });

  test("lets sessions claim first, and assigns after two offers that were ignored", async () => {
    const rig = await open();
    const bell = new Bell();
    const cycle = cycleOf(rig, bell);
    await join(rig, "s1");
    await join(rig, "s2");
    const run = await rig.submit([agentTask("a")]);
    for (const woken of [["s1: a"], ["s2: a"]]) {
      await rig.promised(cycle.runOnce());
      expect(bell.heard()).toEqual(woken);
      expect(statesOf(run)).toEqual({ a: "ready" });
      await rig.clock.advance(30_001);
    }
    await rig.promised(cycle.runOnce());
    expect(find(run, "a")).toMatchObject({
      status: { state: "claimed", lease: { deadline: rig.clock.now() + 10_000 } },
    });
    expect(bell.heard()).toEqual([]);
    const { worker } = (find(run, "a").status as Held).lease;
    expect((await claimed(rig, worker)).task).toBe(find(run, "a"));
  });

  test("can be claimed from, and an offer is not an assignment", async () => {
    const rig = await open();
    const bell = new Bell();
    const cycle = cycleOf(rig, bell);
    await join(rig, "s1");
    const run = await rig.submit([agentTask("a")]);
    await rig.promised(cycle.runOnce());
    await rig.promised(rig.engine.api.beat("s1", undefined));
    expect(statesOf(run)).toEqual({ a: "ready" });
    expect((await claimed(rig, "s1")).task.spec.id).toBe("a");
  });

  test("wakes also sessions that wait for an assignment, and sessions that once did", async () => {
    const rig = await open();
    const bell = new Bell();
    const cycle = cycleOf(rig, bell);
    await join(rig, "s1");
    await assignment(rig, "s1");
    await join(rig, "s2");
    await listens(rig, "s2");
    await rig.submit([agentTask("a"), agentTask("b")]);
    await rig.promised(cycle.runOnce());
    expect(bell.heard()).toEqual(["s1: a", "s2: b"]);
  });

  test("assigns what would starve to who cannot be woken", async () => {
    const rig = await open();
    const bell = new Bell();
    const cycle = rig.engine.cycle({ waker: bell, spawn: bell.spawn, reaches: () => false });
    await join(rig, "s1");
    const call = await listens(rig, "s1");
    await rig.submit([agentTask("a")], { id: runId("run-1") });
    await rig.clock.advance(119_000);
    await rig.promised(cycle.runOnce());
    expect(call.told).toEqual([]);
    await rig.clock.advance(15_000);
    await rig.promised(cycle.runOnce());
    expect(call.told).toEqual(["a"]);
  });
});

import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { find, openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import {
  agentTask,
  BACK,
  BEAT,
  Bell,
  claim,
  claimed,
  count,
  cycleOf,
  DONE,
  FAILED,
  join,
  proofOf,
  refusal,
  report,
} from "../../test/rig/sessions.ts";
import { workerId } from "../domain/ids.ts";
import type { Session } from "../domain/sessions/session.ts";
import { hours, millis, minutes, seconds } from "../domain/time.ts";

const sessionOf = (rig: Rig, id: string): Session | undefined => rig.engine.world.sessions.get(workerId(id));

/** The session takes a task and lets its lease expire. */
async function loses(rig: Rig, id: string): Promise<void> {
  await claimed(rig, id);
  await rig.clock.advance(10_001);
}

describe("a session", () => {
  test("joins once: the same again is nothing new, a change is, and it keeps its place and what it holds", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    const { joinedAt } = await join(rig, "s1");
    await claimed(rig, "s1");
    const before = (await rig.kinds()).length;
    await rig.clock.advance(1_000);
    await join(rig, "s1");
    expect((await rig.kinds()).length).toBe(before);
    expect(await join(rig, "s1", { capabilities: ["gpu"] })).toMatchObject({ joinedAt, state: "idle" });
    expect(statesOf(run)).toEqual({ a: "claimed" });
    expect(await refusal(claim(rig, "s1"))).toBe("SLOTS_TAKEN");
  });

  test("keeps its leases, its losses and its state over a restart, and has a whole span to give a sign of life", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1", { ttl: seconds(10), slots: 2 });
    await loses(rig, "s1");
    const held = await claimed(rig, "s1");
    await report(rig, held, BEAT);
    await rig.promised(rig.engine.api.beat("s1", "prompting"));
    const before = { ...sessionOf(rig, "s1") };
    rig.crash();
    await rig.clock.advance(60_000);
    const again = await rig.resume(run.no);
    expect(sessionOf(rig, "s1")).toEqual(before);
    await rig.clock.advance(10_000);
    await report(rig, held, DONE);
    expect(find(again, held.task.spec.id).status.state).toBe("succeeded");
  });

  test("that does not come back after a restart loses what it holds after one span", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a", { run: { prompt: "words" } })]);
    await join(rig, "s1", { ttl: seconds(10) });
    await claimed(rig, "s1");
    rig.crash();
    await rig.clock.advance(60_000);
    const again = await rig.resume(run.no);
    await rig.clock.advance(10_000);
    expect(statesOf(again)).toEqual({ a: "claimed" });
    await rig.clock.advance(1);
    expect(statesOf(again)).toEqual({ a: "ready" });
  });

  test("that leaves takes nothing more; what it holds goes back when its lease has run out", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: seconds(10) });
    await claimed(rig, "s1");
    await rig.promised(rig.engine.api.leave("s1", "enough"));
    expect(await refusal(claim(rig, "s1"))).toBe("SESSION_UNKNOWN");
    expect(await refusal(rig.promised(rig.engine.api.leave("s1", "again")))).toBe("SESSION_UNKNOWN");
    await rig.clock.advance(10_001);
    expect(statesOf(run)).toEqual({ a: "ready" });
  });
});

describe("a session that loses leases", () => {
  test("is taken to be gone after one, until it is heard of", async () => {
    const rig = await openRig();
    await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1", { ttl: seconds(10) });
    await loses(rig, "s1");
    expect(sessionOf(rig, "s1")).toMatchObject({ state: "stalled", losses: 1 });
    await rig.promised(rig.engine.api.beat("s1", undefined));
    expect(sessionOf(rig, "s1")).toMatchObject({ state: "idle", losses: 1 });
    await loses(rig, "s1");
    expect(sessionOf(rig, "s1")).toMatchObject({ state: "stalled", losses: 2 });
  });

  test("is given nothing more after three in a row, however often it heartbeats in between", async () => {
    const rig = await openRig();
    await rig.submit(["a", "b", "c", "d"].map((id) => agentTask(id)));
    await join(rig, "s1", { ttl: seconds(10) });
    for (const _ of [1, 2, 3]) {
      const granted = await claimed(rig, "s1");
      await report(rig, granted, BEAT);
      await report(rig, granted, { kind: "progress", note: "on it" });
      await rig.clock.advance(10_001);
    }
    expect(sessionOf(rig, "s1")).toMatchObject({ state: "quarantined", losses: 3 });
    expect(await refusal(claim(rig, "s1"))).toBe("SESSION_QUARANTINED");
    await rig.promised(rig.engine.api.beat("s1", "idle"));
    expect(sessionOf(rig, "s1")?.state).toBe("quarantined");
    const bell = new Bell();
    expect(await rig.promised(cycleOf(rig, bell).runOnce())).toMatchObject({ woken: [], capacity: 0 });
    await join(rig, "s1", { ttl: seconds(10) });
    expect(sessionOf(rig, "s1")).toMatchObject({ state: "idle", losses: 0 });
    await claimed(rig, "s1");
  });

  test.each([
    ["delivers", DONE],
    ["says that it failed", FAILED],
    ["hands something back", BACK],
  ])("and then %s begins anew", async (_, leaseReport) => {
    const rig = await openRig();
    await rig.submit(["a", "b", "c", "d"].map((id) => agentTask(id)));
    await join(rig, "s1", { ttl: seconds(10) });
    await loses(rig, "s1");
    await loses(rig, "s1");
    await report(rig, await claimed(rig, "s1"), leaseReport);
    expect(sessionOf(rig, "s1")).toMatchObject({ state: "idle", losses: 0 });
  });

  test("parks a task that is lost three times in a row, whichever session loses it", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    for (const id of ["s1", "s2", "s3"]) {
      await join(rig, id, { ttl: seconds(10) });
      await loses(rig, id);
    }
    expect(find(run, "a").status).toMatchObject({ state: "parked", reason: "poison" });
  });
});

describe("while a session works", () => {
  test("each sign of life moves the deadline by its span; at the deadline it holds, a moment later it does not", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: seconds(10) });
    const granted = await claimed(rig, "s1");
    await rig.clock.advance(10_000);
    expect(await report(rig, granted, BEAT)).toMatchObject({ held: { lease: { deadline: rig.clock.now() + 10_000 } } });
    await rig.clock.advance(10_000);
    expect(statesOf(run)).toEqual({ a: "running" });
    await rig.clock.advance(1);
    expect(statesOf(run)).toEqual({ a: "ready" });
  });

  test("it is told with its next sign of life that its task was cancelled, and its lease is not renewed", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: seconds(10) });
    const granted = await claimed(rig, "s1");
    await report(rig, granted, BEAT);
    await rig.ask({ kind: "cancel", run: run.manifest.id, why: "enough" });
    await rig.clock.advance(4_000);
    expect((await report(rig, granted, BEAT)).held).toMatchObject({
      stopping: { kind: "cancelled", asked: { by: "mo", why: "enough" } },
      lease: { deadline: rig.clock.now() + 6_000 },
    });
    await rig.clock.advance(6_001);
    expect(run.status).toMatchObject({ state: "finished", outcome: "cancelled" });
  });

  test.each([
    ["delivers", DONE],
    ["fails", FAILED],
    ["hands it back", BACK],
  ])("what was cancelled is cancelled, also when it %s", async (_, leaseReport) => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a", { retry: { attempts: 5 } })]);
    await join(rig, "s1");
    const granted = await claimed(rig, "s1");
    await rig.ask({ kind: "cancel", run: run.manifest.id });
    await report(rig, granted, leaseReport);
    expect(statesOf(run)).toEqual({ a: "cancelled" });
  });

  test("it has until the hard limit when it was asked to end at the soft one, as long as it lives", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a", { timeout: { soft: seconds(20), hard: seconds(60) } })]);
    await join(rig, "s1", { ttl: seconds(10) });
    const granted = await claimed(rig, "s1");
    for (let at = 0; at < 60; at += 5) {
      const { held } = await report(rig, granted, BEAT);
      expect(held?.stopping).toEqual(at < 20 ? undefined : { kind: "timeout", limit: "soft" });
      await rig.clock.advance(5_000);
    }
    expect(find(run, "a").status).toMatchObject({ state: "failed", outcome: { kind: "timeout", limit: "hard" } });
    expect(await refusal(report(rig, granted, DONE))).toBe("LEASE_LOST");
    expect(sessionOf(rig, "s1")?.losses).toBe(0);
  });

  test("what it held past the hard limit is given to no session before its lease is over", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a", { timeout: { hard: seconds(20) }, retry: { attempts: 3 } })]);
    await join(rig, "s1", { ttl: minutes(5) });
    await join(rig, "s2");
    const granted = await claimed(rig, "s1");
    await report(rig, granted, BEAT);
    await rig.clock.advance(21_000);
    expect(statesOf(run)).toEqual({ a: "ready" });
    expect(await claim(rig, "s2")).toBeUndefined();
    await rig.clock.advance(278_000);
    expect(await claim(rig, "s2")).toBeUndefined();
    await rig.clock.advance(2_000);
    expect(await claimed(rig, "s2")).toMatchObject({ fence: 2 });
  });

  test.each([
    ["a pool that is this machine's own", "s1", { pool: "local" }],
    ["the name of a worker of this machine", "local/1", {}],
  ])("it cannot join with %s", async (_, id, rest) => {
    const rig = await openRig();
    expect(await refusal(join(rig, id, rest))).toBe("REQUEST_INVALID");
    expect(rig.engine.world.sessions.size).toBe(0);
  });

  test("a key that was used for one task is not good for another", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1", { slots: 2 });
    const key = { key: "k", run: run.manifest.id };
    const granted = await claimed(rig, "s1", { ...key, task: find(run, "a").spec.id });
    expect(await claimed(rig, "s1", { ...key, task: find(run, "a").spec.id })).toEqual(granted);
    expect(await refusal(claim(rig, "s1", { ...key, task: find(run, "b").spec.id }))).toBe("REQUEST_INVALID");
  });

  test("its silence is told after 300 seconds, once, and ended after 900; what it says about its work begins anew", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: hours(1) });
    const granted = await claimed(rig, "s1");
    await report(rig, granted, BEAT);
    await rig.clock.advance(200_000);
    await report(rig, granted, { kind: "progress", note: "half way" });
    await rig.clock.advance(299_999);
    expect(await count(rig, run, "a", "silent")).toBe(0);
    await rig.clock.advance(1 + 20);
    expect(await count(rig, run, "a", "silent")).toBe(1);
    await report(rig, granted, BEAT);
    await rig.clock.advance(600_000 - 21);
    expect(await count(rig, run, "a", "silent")).toBe(1);
    expect(statesOf(run)).toEqual({ a: "running" });
    await rig.clock.advance(1);
    expect(find(run, "a").status).toMatchObject({ state: "failed", outcome: { kind: "timeout", limit: "progress" } });
    expect(await refusal(report(rig, granted, DONE))).toBe("LEASE_LOST");
  });

  test("its silence is watched over a restart: from then on", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: hours(1) });
    const granted = await claimed(rig, "s1");
    await report(rig, granted, BEAT);
    await rig.clock.advance(290_000);
    rig.crash();
    const again = await rig.resume(run.no);
    await rig.clock.advance(299_999);
    expect(await count(rig, again, "a", "silent")).toBe(0);
    await rig.clock.advance(21);
    expect(await count(rig, again, "a", "silent")).toBe(1);
    await rig.clock.advance(600_000);
    expect(statesOf(again)).toEqual({ a: "failed" });
  });
});

describe("a machine that slept", () => {
  test("gives each holder one span of grace, and drops no session", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a"), agentTask("b")]);
    await join(rig, "s1", { ttl: seconds(60) });
    await join(rig, "s2", { ttl: seconds(60) });
    const granted = await claimed(rig, "s1");
    await claimed(rig, "s2");
    const cycle = cycleOf(rig, new Bell());
    await rig.clock.sleep(hours(1));
    await rig.promised(cycle.runOnce());
    expect([...rig.engine.world.sessions.keys()]).toEqual(["s1", "s2"].map(workerId));
    expect(statesOf(run)).toEqual({ a: "claimed", b: "claimed" });
    await rig.clock.advance(30_000);
    await report(rig, granted, BEAT);
    await rig.clock.advance(30_001);
    expect(statesOf(run)).toEqual({ a: "running", b: "ready" });
  });

  test("hears a report that comes in the very moment it wakes up", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: minutes(1) });
    const granted = await claimed(rig, "s1");
    const said = refusal(rig.engine.api.report(proofOf(granted), DONE));
    await rig.clock.sleep(hours(1));
    expect([await said, statesOf(run)]).toEqual(["not refused", { a: "succeeded" }]);
  });

  test("is no long stretch of work: a session that is silent meanwhile loses what it holds", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([agentTask("a"), ...Array.from({ length: 1_000 }, (_, at) => task(`t${at}`))]);
    await join(rig, "s1", { ttl: seconds(60) });
    await claimed(rig, "s1");
    // Each end is heard before any check for due deadlines.
    rig.engine.listen(() => {
      rig.clock.spend(millis(100));
      for (const process of rig.machine.processes) if (process.alive) process.succeeds();
    });
    rig.machine.at("t0").succeeds();
    await rig.clock.settle();
    expect(run.counts.succeeded).toBe(1_000);
    expect([await count(rig, run, "a", "expired"), statesOf(run)["a"]]).toEqual([1, "ready"]);
  });

  test("does not forgive who is simply late", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: seconds(60) });
    await claimed(rig, "s1");
    await rig.clock.sleep(millis(69_000));
    expect(statesOf(run)).toEqual({ a: "ready" });
  });
});

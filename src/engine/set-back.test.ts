import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { find, openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import { agentTask, Bell, claimed, cycleOf, join } from "../../test/rig/sessions.ts";
import { runId, taskId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import { hours, type Millis, minutes, seconds } from "../domain/time.ts";
import { replayAll } from "../store/replay.ts";

describe("a scheduler whose clock is behind that of the one before", () => {
  const HOUR = hours(1);
  async function setBack(rig: Rig, before: Run): Promise<Run> {
    rig.crash();
    rig.clock.setBack(HOUR);
    const run = await rig.resume(before.no);
    expect(await replayAll(rig.store)).toEqual([]);
    return run;
  }

  test("says so, and makes no task wait until the time has come again", async () => {
    const rig = await openRig();
    const before = await rig.submit([task("a", { retry: { attempts: 2, backoff: seconds(20), factor: 1 } })]);
    rig.machine.at("a").fails();
    await rig.clock.settle();
    await setBack(rig, before);
    expect(rig.told.at(-1)).toMatchObject({ kind: "set_back", by: HOUR });
    expect(rig.machine.started).toEqual(["a"]);
    await rig.clock.advance(seconds(20));
    expect(rig.machine.started).toEqual(["a", "a"]);
  });

  test("gives out by name what could have been had before", async () => {
    const rig = await openRig();
    const before = await rig.submit([agentTask("a")]);
    const run = await setBack(rig, before);
    await join(rig, "s1");
    expect((await claimed(rig, "s1", { run: run.manifest.id, task: taskId("a") })).task).toBe(find(run, "a"));
  });

  test("keeps nothing for an hour for whom it was offered to before", async () => {
    const rig = await openRig();
    const before = await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    await rig.promised(cycleOf(rig, new Bell()).runOnce());
    expect(find(before, "a").offer).toMatchObject({ session: "s1" });
    const run = await setBack(rig, before);
    await join(rig, "s2");
    const bell = new Bell();
    await rig.promised(cycleOf(rig, bell).runOnce());
    expect((await rig.eventsOf(run, "a")).map(({ kind }) => kind)).toEqual([
      "waiting",
      "offered",
      "set_back",
      "offer_ended",
      "offered",
    ]);
    expect(bell.heard()).toHaveLength(1);
  });

  test.each([seconds(1), hours(2)])(
    "agrees with the ledger on what became ready since, when the next one comes after %i ms",
    async (after) => {
      const rig = await openRig({ workers: 1 });
      const before = await rig.submit([task("a"), task("b"), task("c", { needs: ["a"] })]);
      rig.machine.at("a").starts();
      await rig.clock.advance(20);
      const run = await setBack(rig, before);
      rig.machine.at("a").succeeds();
      await rig.clock.advance(20);
      expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed", c: "ready" });
      rig.crash();
      await rig.clock.advance(after);
      await rig.resume(run.no);
      expect(await replayAll(rig.store)).toEqual([]);
    },
  );

  test("gives what runs as long as it may take, and no hour more", async () => {
    const rig = await openRig();
    const before = await rig.submit([task("a", { timeout: { hard: minutes(10) } })]);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    await setBack(rig, before);
    await rig.clock.advance(minutes(10));
    expect(rig.machine.at("a").stops).toMatchObject([{ reason: { kind: "timeout", limit: "hard" } }]);
  });

  test("counts from here for how long no session has come for it, too", async () => {
    const rig = await openRig();
    const before = await rig.submit([agentTask("a", { requires: ["gpu"] })]);
    const cycle = cycleOf(rig, new Bell());
    for (let times = 0; times < 3; times++) {
      await rig.clock.advance(minutes(2));
      await rig.promised(cycle.runOnce());
    }
    expect(find(before, "a").starving).toBeDefined();
    const run = await setBack(rig, before);
    expect(find(run, "a").starving?.since).toBe(rig.clock.now());
  });

  test("does not speak of it where nothing lies ahead", async () => {
    const rig = await openRig();
    const before = await rig.submit([task("a")]);
    await rig.clock.advance(seconds(5));
    rig.crash();
    rig.clock.setBack(seconds(5));
    await rig.resume(before.no);
    expect(await rig.kinds()).not.toContain("set_back");
  });

  test("lets a rate fill up from here on", async () => {
    const rig = await openRig({ workers: 1 });
    const calls = { resources: { calls: 1 } };
    const rates = { calls: { amount: 1, per: seconds(10) } };
    const before = await rig.submit([task("a", calls), task("b", calls)], { rates });
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    await setBack(rig, before);
    await rig.clock.advance(seconds(11));
    expect(rig.machine.started).toEqual(["a", "b"]);
  });

  test("charges for what runs from here on: others have their share", async () => {
    const rig = await openRig({ workers: 1 });
    // A party without a record has had nothing since the beginning of time.
    await rig.clock.advance(hours(10));
    const many = (name: string) => Array.from({ length: 10 }, (_, no) => task(`${name}${no}`));
    await setBack(rig, await rig.submit(many("a")));
    await rig.submit(many("b"), { id: runId("run-2") });
    for (let times = 0; times < 5; times++) await endsAfter(rig, seconds(10));
    expect(rig.machine.started).toEqual(["a0", "b0", "a1", "b1", "a2", "b2"]);
  });

  test("has who waits too long move up as soon as before", async () => {
    const rig = await openRig({ workers: 1, priorities: "strict", patience: { dispatches: 2, wait: seconds(30) } });
    const urgent = Array.from({ length: 10 }, (_, no) => task(`a${no}`));
    await setBack(rig, await rig.submit([task("low", { priority: "low" }), ...urgent]));
    for (let times = 0; times < 6; times++) await endsAfter(rig, seconds(10));
    expect(await rig.kinds()).toContain("aged_boost");
  });

  test("takes back what was assigned to a session that does not come", async () => {
    const rig = await openRig({ modes: { agents: "push" } });
    await join(rig, "s1");
    const run = await setBack(rig, await rig.submit([agentTask("a")]));
    await rig.clock.advance(minutes(10));
    expect((await rig.eventsOf(run, "a")).map(({ kind }) => kind)).toEqual([
      "claimed",
      "set_back",
      "released",
      "waiting",
    ]);
  });

  test("does not count a hold of before as time that was waited", async () => {
    const rig = await openRig();
    const before = await rig.submit([agentTask("a", { requires: ["gpu"] })]);
    await rig.promised(rig.engine.api.hold({ of: "scheduler" }, { by: "mo" }));
    const run = await setBack(rig, before);
    await rig.clock.advance(seconds(5));
    await rig.promised(rig.engine.api.letGo({ of: "scheduler" }, { by: "mo" }));
    await rig.promised(cycleOf(rig, new Bell()).runOnce());
    expect(find(run, "a").starving).toBeUndefined();
  });
});

/** The running task goes on for that span, and ends well. */
async function endsAfter(rig: Rig, span: Millis): Promise<void> {
  const running = rig.machine.at(rig.machine.running[0] as string).starts();
  await rig.clock.advance(span);
  running.succeeds();
  await rig.clock.settle();
}

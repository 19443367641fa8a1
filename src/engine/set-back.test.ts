import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { find, openRig, type Rig } from "../../test/rig/rig.ts";
import { agentTask, Bell, claimed, cycleOf, join } from "../../test/rig/sessions.ts";
import { taskId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import { hours, minutes, seconds } from "../domain/time.ts";
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

  test("says so, and makes nobody wait until the time has come again", async () => {
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

  test("gives what runs as long as it may take, and no hour more", async () => {
    const rig = await openRig();
    const before = await rig.submit([task("a", { timeout: { hard: minutes(10) } })]);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    await setBack(rig, before);
    await rig.clock.advance(minutes(10));
    expect(rig.machine.at("a").stops).toMatchObject([{ reason: { kind: "timeout", limit: "hard" } }]);
  });

  test("counts from here for how long nobody has come for it, too", async () => {
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
});

import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import { agentTask, BEAT, claimed, join, report } from "../../test/rig/sessions.ts";
import type { Run } from "../domain/run.ts";
import { hours, minutes, seconds } from "../domain/time.ts";

describe("a clock that is set forward while a scheduler lives", () => {
  const kinds = async (rig: Rig, run: Run): Promise<readonly string[]> =>
    (await rig.eventsOf(run, "a")).map(({ kind }) => kind);
  const limits = { timeout: { soft: minutes(8), hard: minutes(10) }, progress: minutes(5) };

  test("ends nothing that has only just begun, charges nothing and calls no session silent", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", limits)]);
    const attempt = rig.machine.at("a").starts();
    await rig.clock.advance(seconds(1));
    await rig.clock.setForward(hours(1));
    await rig.clock.advance(seconds(60));
    expect([attempt.stops, await kinds(rig, run)]).toEqual([[], ["claimed", "started"]]);
    expect(run.tasks[0]).toMatchObject({ attempt: 1, failures: 0 });
  });

  test("takes nothing from a time-out, and adds nothing: it comes when the time has passed", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", limits)]);
    const attempt = rig.machine.at("a").starts();
    await rig.clock.advance(minutes(1));
    await rig.clock.setForward(hours(1));
    await rig.clock.advance(minutes(4) - 1);
    expect(await kinds(rig, run)).not.toContain("silent");
    // It is written with the next commit, for which it waits for a moment.
    await rig.clock.advance(seconds(1));
    expect(await kinds(rig, run)).toContain("silent");
    await rig.clock.advance(minutes(3) - seconds(1));
    expect(attempt.stops).toEqual([]);
    await rig.clock.advance(1);
    expect(attempt.stops).toMatchObject([{ reason: { kind: "timeout", limit: "soft" } }]);
    await rig.clock.advance(minutes(2));
    expect(attempt.stops[1]).toMatchObject({ reason: { kind: "timeout", limit: "hard" } });
  });

  test("leaves a session its work, and a later claim its whole time", async () => {
    const rig = await openRig();
    const run = await rig.submit([agentTask("a", limits), task("b", limits)]);
    await join(rig, "s1", { ttl: minutes(30) });
    const granted = await claimed(rig, "s1");
    await report(rig, granted, BEAT);
    rig.machine.at("b").starts().succeeds();
    await rig.clock.setForward(hours(1));
    await report(rig, granted, BEAT);
    expect(statesOf(run)).toEqual({ a: "running", b: "succeeded" });
    const later = await rig.submit([task("a", { timeout: { hard: minutes(10) } })], { id: "later" as never });
    const attempt = rig.machine.at("a").starts();
    await rig.clock.advance(minutes(10) - 1);
    expect(attempt.stops).toEqual([]);
    await rig.clock.advance(1);
    expect([attempt.stops.length, later.tasks[0]?.status.state]).toEqual([1, "running"]);
  });
});

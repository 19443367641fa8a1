import { describe, expect, test } from "vitest";
import { find, openRig } from "../../test/rig/rig.ts";
import { agentTask, Bell, cycleOf, join, refusal, waiting } from "../../test/rig/sessions.ts";
import { workerId } from "../domain/ids.ts";
import { millis, minutes, seconds } from "../domain/time.ts";
import type { WakeOptions } from "./wake/wake-scheduler.ts";

async function house(options: WakeOptions = {}) {
  const rig = await openRig();
  const bell = new Bell();
  const cycle = cycleOf(rig, bell, options);
  return { rig, bell, cycle, once: () => rig.promised(cycle.runOnce()) };
}

describe("the life of a cycle", () => {
  test("begins with the first interval, goes on by itself, and ends", async () => {
    const { rig, cycle } = await house();
    cycle.start();
    cycle.start();
    await rig.clock.advance(14_999);
    expect(cycle.stats()).toMatchObject({ cycles: 0 });
    expect(cycle.stats()).not.toHaveProperty("lastCycleAt");
    await rig.clock.advance(1);
    expect(cycle.stats()).toMatchObject({ cycles: 1, lastCycleAt: rig.clock.now() });
    await rig.clock.advance(45_000);
    expect(cycle.stats().cycles).toBe(4);
    await cycle.shutdown();
    await cycle.shutdown();
    await rig.clock.advance(60_000);
    expect(cycle.stats().cycles).toBe(4);
  });

  test("cannot begin again after its end, and no cycle runs then", async () => {
    const { cycle } = await house();
    await cycle.shutdown();
    expect(() => cycle.start()).toThrow("shut down");
    expect(await refusal(cycle.runOnce())).toBe("DAEMON_STOPPING");
  });

  test("leaves no timer behind", async () => {
    const { rig, cycle, once } = await house();
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    cycle.start();
    await once();
    await cycle.shutdown();
    expect(rig.clock.waiting).toEqual([]);
  });

  test("the end waits for the cycle that runs, no longer than was asked, and may be asked again", async () => {
    const { rig, bell, cycle } = await house();
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const slow = Promise.withResolvers<readonly undefined[]>();
    bell.answer = () => slow.promise;
    const once = cycle.runOnce();
    await rig.clock.settle();
    const impatient = refusal(cycle.shutdown(seconds(5)));
    await rig.clock.advance(5_000);
    expect(await impatient).toBe("DAEMON_STOPPING");
    const patient = cycle.shutdown();
    slow.resolve([undefined]);
    await rig.promised(patient);
    expect((await once).woken.length).toBe(1);
  });

  test("something that happens wakes without waiting for the interval, and without climbing", async () => {
    const { rig, bell, cycle } = await house({ starvingAge: millis(0) });
    const run = await rig.submit([agentTask("a"), agentTask("b", { requires: ["gpu"] })]);
    await join(rig, "s1");
    cycle.nudge();
    await rig.clock.settle();
    expect(bell.heard()).toEqual([]);
    cycle.start();
    cycle.nudge();
    cycle.nudge();
    await rig.clock.settle();
    expect(bell.calls.length).toBe(1);
    expect(find(run, "b")).not.toHaveProperty("starving");
    expect(cycle.stats()).toMatchObject({ cycles: 0, wakes: 1 });
  });

  test("two never run at once", async () => {
    const { rig, bell, cycle } = await house();
    await rig.submit([agentTask("a")]);
    await join(rig, "s1");
    const slow = Promise.withResolvers<readonly undefined[]>();
    bell.answer = () => slow.promise;
    const both = [cycle.runOnce(), cycle.runOnce()];
    await rig.clock.settle();
    expect(cycle.stats().cycles).toBe(0);
    slow.resolve([undefined]);
    await rig.promised(Promise.all(both));
    expect(cycle.stats()).toMatchObject({ cycles: 2, wakes: 1 });
  });
});

test("a session that is heard of no more is dropped after twice its span, unless it waits for an answer", async () => {
  const { rig, once } = await house();
  await join(rig, "silent", { ttl: minutes(1) });
  await join(rig, "there", { ttl: minutes(1) });
  await join(rig, "waits", { ttl: minutes(1) });
  await waiting(rig, "waits", { wait: minutes(10) });
  await rig.clock.advance(100_000);
  await rig.promised(rig.engine.api.beat("there", undefined));
  await rig.clock.advance(20_000);
  await once();
  expect([...rig.engine.world.sessions.keys()]).toEqual(["silent", "there", "waits"].map(workerId));
  await rig.clock.advance(1);
  await once();
  expect([...rig.engine.world.sessions.keys()]).toEqual(["there", "waits"].map(workerId));
});

/** What a cycle reports: in its result, in the tallies, in the ledger and to the sessions it wakes. */
import { expect, test } from "vitest";
import { find, openRig } from "../../test/rig/rig.ts";
import { agentTask, Bell, claimed, cycleOf, FAILED, join, report } from "../../test/rig/sessions.ts";
import { minutes, seconds } from "../domain/time.ts";
import type { WakeOptions } from "./wake/wake-scheduler.ts";

async function house(options: WakeOptions = {}) {
  const rig = await openRig();
  const bell = new Bell();
  const cycle = cycleOf(rig, bell, options);
  return { rig, bell, cycle, once: () => rig.promised(cycle.runOnce()) };
}

test("counts tasks that no session may claim now, and tasks for which every idle session was woken a moment ago", async () => {
  const { rig, once, cycle } = await house();
  const run = await rig.submit([
    agentTask("a"),
    agentTask("held"),
    agentTask("back", { priority: "high", retry: { attempts: 2, backoff: minutes(20), max: minutes(20) } }),
  ]);
  await join(rig, "s1");
  await report(rig, await claimed(rig, "s1"), FAILED);
  await rig.promised(rig.engine.api.hold({ of: "task", run: run.no, task: find(run, "held").no }, { by: "mo" }));
  expect(await once()).toMatchObject({ unclaimable: 2, recentlyNotified: 0, woken: [{ task: "run-1/a" }] });
  await rig.clock.advance(30_001);
  expect(await once()).toMatchObject({ unclaimable: 2, recentlyNotified: 1, cooling: 0, woken: [] });
  expect(cycle.stats()).toMatchObject({ unclaimable: 4, recentlyNotified: 1 });
});

test("says in the ledger why it took something back, and to a session why it is woken", async () => {
  for (const [options, sweep, wake] of [
    [{}, "it was not heard of any more", "a task waits that this session can claim"],
    [{ sweepReason: "swept", wakeReason: "wake up" }, "swept", "wake up"],
    [{ sweepReason: " ", wakeReason: "" }, "it was not heard of any more", "a task waits that this session can claim"],
  ] as const) {
    const { rig, bell, cycle } = await house(options);
    await rig.submit([agentTask("a")]);
    await join(rig, "s1", { ttl: seconds(60) });
    await claimed(rig, "s1");
    await join(rig, "s2", { ttl: minutes(30) });
    await rig.clock.advance(59_000);
    const once = cycle.runOnce();
    await rig.clock.sleep(seconds(5));
    await rig.promised(once);
    expect(rig.told).toContainEqual(expect.objectContaining({ kind: "expired", why: sweep }));
    expect(bell.calls.flat().map(({ why }) => why)).toEqual([wake]);
  }
});

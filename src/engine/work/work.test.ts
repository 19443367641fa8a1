import { describe, expect, test } from "vitest";
import { exit, no, task } from "../../../test/rig/builders.ts";
import { find, openRig, statesOf } from "../../../test/rig/rig.ts";
import type { Outcome } from "../../domain/outcome.ts";
import { millis, minutes, seconds } from "../../domain/time.ts";

const ended = (kind: "lost" | "auth" | "shutdown"): Outcome => ({ kind, durationMs: millis(1) });

describe("order", () => {
  test("a task starts when everything it needs has succeeded", async () => {
    const rig = await openRig({ workers: 3 });
    const run = await rig.submit([task("a"), task("b"), task("c", { needs: ["a", "b"] }), task("d", { after: ["c"] })]);
    expect(rig.machine.running).toEqual(["a", "b"]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed", c: "blocked", d: "blocked" });
    rig.machine.at("b").succeeds();
    await rig.clock.settle();
    rig.machine.at("c").fails();
    await rig.clock.settle();
    expect(rig.machine.running).toEqual(["d"]);
    rig.machine.at("d").succeeds();
    await rig.clock.settle();
    expect(run.status).toMatchObject({ state: "finished", outcome: "failed" });
  });

  test("a failure skips whatever needed it, and whatever needed that, but not those that only come after it or go on regardless", async () => {
    const rig = await openRig();
    const run = await rig.submit([
      task("a"),
      task("b", { needs: ["a"] }),
      task("c", { needs: ["b"] }),
      task("late", { after: ["b"] }),
      task("stubborn", { needs: ["a", "b"], onFailure: "continue" }),
    ]);
    rig.machine.at("a").fails();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "failed", b: "skipped", c: "skipped", late: "claimed", stubborn: "claimed" });
    expect(find(run, "c").status).toMatchObject({ because: find(run, "b").no });
  });

  test("work that an earlier run has done counts as done", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { needs: ["a"] }), task("c", { needs: ["b"] })], {
      carried: [no(0)],
    });
    expect(rig.machine.started).toEqual(["b"]);
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed", c: "blocked" });
  });

  test("it is not quiet before the last end is written down", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    const { outcome } = rig.machine.at("a").succeeds();
    // The outcome is known, and no turn has been taken.
    await Promise.resolve(outcome);
    expect([statesOf(run), rig.engine.live]).toEqual([{ a: "claimed" }, 1]);
    await rig.promised(rig.engine.quiet());
    expect([statesOf(run), rig.engine.live]).toEqual([{ a: "succeeded" }, 0]);
    expect(await rig.kinds()).toContain("succeeded");
  });

  test("what has ended by itself is not told to end, although no turn has seen that yet", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    rig.engine.stopAll();
    const ended = rig.machine.at("a").succeeds();
    await rig.promised(rig.engine.quiet());
    expect([ended.stops, (await rig.eventsOf(run, "a")).map(({ kind }) => kind)]).toEqual([
      [],
      ["claimed", "succeeded"],
    ]);
  });

  test("an empty run ends at once", async () => {
    const rig = await openRig();
    const run = await rig.submit([]);
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
  });

  test("no more runs at once than there are workers, and each worker has one task", async () => {
    const rig = await openRig({ workers: 2 });
    const run = await rig.submit([task("a"), task("b"), task("c")]);
    expect(rig.machine.running).toEqual(["a", "b"]);
    expect(run.tasks.map(({ status }) => ("lease" in status ? status.lease.worker : ""))).toEqual(["w1", "w2", ""]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(find(run, "c").status).toMatchObject({ lease: { worker: "w1" } });
  });
});

describe("another try", () => {
  test("is made as often as the plan says, after a pause, and then no more", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", { retry: { attempts: 3 } })]);
    for (const longest of [100, 200]) {
      rig.machine.at("a").fails();
      await rig.clock.settle();
      const { status } = find(run, "a");
      expect(status.state).toMatch(/ready|claimed/);
      if (status.state === "ready") expect(status.notBefore - rig.clock.now()).toBeLessThanOrEqual(longest);
      await rig.clock.advance(longest);
      expect(rig.machine.running).toEqual(["a"]);
    }
    rig.machine.at("a").fails(3);
    await rig.clock.settle();
    expect(find(run, "a")).toMatchObject({
      attempt: 3,
      failures: 3,
      status: { state: "failed", reason: "abandoned", outcome: exit(3) },
    });
    expect(rig.machine.started).toHaveLength(3);
  });

  test("is not made before its time", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", { retry: { attempts: 2, backoff: seconds(20), factor: 1 } })]);
    rig.machine.at("a").fails();
    await rig.clock.settle();
    const { status } = find(run, "a");
    const wait = status.state === "ready" ? status.notBefore - rig.clock.now() : 0;
    expect(wait).toBeGreaterThan(0);
    await rig.clock.advance(wait - 1);
    expect(rig.machine.started).toEqual(["a"]);
    await rig.clock.advance(1);
    expect(rig.machine.started).toEqual(["a", "a"]);
  });

  test("does not hold any other task up", async () => {
    const rig = await openRig({ workers: 1 });
    await rig.submit([
      task("a", { priority: "critical", retry: { attempts: 2, backoff: seconds(20), factor: 1 } }),
      task("b"),
    ]);
    rig.machine.at("a").fails();
    await rig.clock.settle();
    expect(rig.machine.running).toEqual(["b"]);
  });

  test("is free when the worker and not the task was at fault", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    rig.machine.at("a").ends({ kind: "rate-limit", resetMs: seconds(30), durationMs: millis(1) });
    await rig.clock.advance(seconds(30) - 1);
    expect(rig.machine.started).toHaveLength(1);
    await rig.clock.advance(1);
    expect(rig.machine.running).toEqual(["a"]);
    expect(find(run, "a")).toMatchObject({ attempt: 2, failures: 0 });
  });

  test("is not made for ever: a task whose workers keep dying is parked, and goes on when a person says so", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    for (let times = 1; times <= 3; times++) {
      rig.machine.at("a").ends(ended("lost"));
      await rig.clock.advance(minutes(1));
    }
    expect(find(run, "a")).toMatchObject({ attempt: 3, failures: 0, status: { state: "parked", reason: "poison" } });
    expect(run.status.state).toBe("stalled");
    await rig.ask({ kind: "requeue", run: run.manifest.id });
    expect(find(run, "a")).toMatchObject({ attempt: 4, expiries: 0, status: { state: "claimed" } });
    expect(run.status.state).toBe("active");
  });

  test("what a person must look at is parked, and its budget is not touched", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { needs: ["a"] })]);
    rig.machine.at("a").ends(ended("auth"));
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "parked", b: "blocked" });
    expect(find(run, "a")).toMatchObject({ failures: 0, status: { reason: "attention" } });
    expect(run.status.state).toBe("stalled");
  });
});

describe("time", () => {
  test("after the soft limit an attempt is asked to end, after the hard one it is killed", async () => {
    const rig = await openRig({ grace: seconds(4) });
    const run = await rig.submit([task("a", { timeout: { soft: seconds(10), hard: seconds(60) } })]);
    rig.machine.at("a").starts();
    await rig.clock.advance(9_999);
    expect(rig.machine.at("a").stops).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.machine.at("a").stops).toEqual([{ reason: { kind: "timeout", limit: "soft" }, grace: 4_000 }]);
    await rig.clock.advance(seconds(50) - 1);
    expect(rig.machine.at("a").stops).toHaveLength(1);
    await rig.clock.advance(1);
    expect(rig.machine.at("a").stops[1]).toEqual({ reason: { kind: "timeout", limit: "hard" }, grace: 0 });
    await rig.clock.advance(minutes(5));
    expect(rig.machine.at("a").stops).toHaveLength(2);
    rig.machine.at("a").obeys();
    await rig.clock.settle();
    expect(find(run, "a").status).toMatchObject({ state: "failed", outcome: { kind: "timeout", limit: "soft" } });
  });

  test("counts from the start of the attempt, not from the claim", async () => {
    const rig = await openRig();
    await rig.submit([task("a", { timeout: { hard: seconds(10) } })]);
    await rig.clock.advance(seconds(60));
    rig.machine.at("a").starts();
    await rig.clock.advance(9_999);
    expect(rig.machine.at("a").stops).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.machine.at("a").stops).toHaveLength(1);
  });

  test("silence is reported once, and once more when there was a sign of life in between; nothing is stopped", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", { progress: seconds(30) })]);
    const silences = async () => (await rig.eventsOf(run, "a")).filter(({ kind }) => kind === "silent");
    rig.machine.at("a").starts();
    await rig.clock.advance(seconds(20));
    rig.machine.at("a").shows();
    await rig.clock.advance(seconds(29));
    expect(await silences()).toEqual([]);
    await rig.clock.advance(seconds(2));
    expect(await silences()).toMatchObject([{ forMs: 30_000 }]);
    await rig.clock.advance(minutes(5));
    expect(await silences()).toHaveLength(1);
    rig.machine.at("a").shows();
    await rig.clock.advance(seconds(36));
    expect(await silences()).toHaveLength(2);
    expect(rig.machine.at("a").stops).toEqual([]);
  });
});

describe("a report that comes too late", () => {
  test("leaves an event and changes nothing", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", { retry: { attempts: 2 } })]);
    const first = rig.machine.at("a").starts().fails();
    await rig.clock.advance(100);
    rig.machine.at("a").starts();
    await rig.clock.advance(20);
    const before = { ...find(run, "a") };
    first.starts();
    await rig.clock.advance(20);
    expect((await rig.eventsOf(run, "a")).at(-1)).toMatchObject({
      kind: "late_report_refused",
      fence: 1,
      reported: "started",
    });
    expect(find(run, "a")).toEqual({ ...before, version: before.version + 1 });
  });

  test("leaves an event even when the run has ended", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    const process = rig.machine.at("a").succeeds();
    await rig.clock.settle();
    process.starts();
    await rig.clock.settle();
    expect((await rig.eventsOf(run, "a")).map(({ kind }) => kind)).toEqual([
      "claimed",
      "succeeded",
      "late_report_refused",
    ]);
    expect(run.status.state).toBe("finished");
    expect(statesOf(run)).toEqual({ a: "succeeded" });
  });
});

describe("stopping everything", () => {
  test("starts nothing more, and what runs goes back to the queue at no cost", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([task("a"), task("b")]);
    rig.machine.at("a").starts();
    const idle = rig.engine.idle(run);
    rig.engine.stopAll();
    await rig.clock.settle();
    expect(rig.machine.at("a").stops).toEqual([{ reason: { kind: "shutdown" }, grace: 5_000 }]);
    rig.machine.at("a").obeys();
    await rig.promised(idle);
    expect(find(run, "a")).toMatchObject({ failures: 0, expiries: 0, status: { state: "ready" } });
    await rig.clock.advance(minutes(1));
    expect(rig.machine.started).toEqual(["a"]);
    expect(run.status.state).toBe("active");
  });

  test("gives the time it was asked to give, and less when asked again", async () => {
    const rig = await openRig();
    await rig.submit([task("a")]);
    rig.engine.stopAll(seconds(2));
    await rig.clock.settle();
    rig.engine.stopAll(millis(0));
    await rig.clock.settle();
    expect(rig.machine.at("a").stops.map(({ grace }) => grace)).toEqual([2_000, 0]);
  });

  test("pausing lets what runs come to its end", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([task("a"), task("b")]);
    rig.engine.pause();
    const idle = rig.engine.idle(run);
    await rig.clock.settle();
    expect(rig.machine.at("a").stops).toEqual([]);
    rig.machine.at("a").succeeds();
    await rig.promised(idle);
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "ready" });
  });
});

import { describe, expect, test } from "vitest";
import { exit, manifest, success, task } from "../../test/rig/builders.ts";
import { find, openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import { runId, taskId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import { millis, minutes, seconds } from "../domain/time.ts";

const cancel = (rig: Rig, run: Run, id?: string): Promise<void> =>
  rig.ask({ kind: "cancel", run: run.manifest.id, why: "enough", ...(id !== undefined && { task: taskId(id) }) });

const asked = { by: "mo", why: "enough" };

describe("cancelling a task", () => {
  test("that waits ends it at once, and skips what needed it", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([task("a", { priority: "critical" }), task("b"), task("c", { needs: ["b"] })]);
    await cancel(rig, run, "b");
    expect(statesOf(run)).toEqual({ a: "claimed", b: "cancelled", c: "skipped" });
    expect((await rig.eventsOf(run, "b")).at(-1)).toMatchObject({ kind: "cancelled", asked });
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(run.status).toMatchObject({ state: "finished", outcome: "cancelled" });
    expect(rig.machine.started).toEqual(["a"]);
  });

  test("that runs stops it first; it is cancelled when nothing of it is left", async () => {
    const rig = await openRig({ grace: seconds(3) });
    const run = await rig.submit([task("a", { retry: { attempts: 9 } }), task("b", { needs: ["a"] })]);
    rig.machine.at("a").starts();
    await cancel(rig, run, "a");
    expect(rig.machine.at("a").stops).toEqual([{ reason: { kind: "cancelled", asked }, grace: 3_000 }]);
    expect(statesOf(run)).toEqual({ a: "running", b: "blocked" });
    rig.machine.at("a").obeys();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "cancelled", b: "skipped" });
    expect((await rig.eventsOf(run, "a")).at(-1)).toMatchObject({ kind: "cancelled", asked });
  });

  test.each([
    ["failed", exit(1)],
    ["was told to shut down", { kind: "shutdown", durationMs: millis(1) } as const],
    ["was lost", { kind: "lost", durationMs: millis(1) } as const],
    ["was turned away", { kind: "auth", durationMs: millis(1) } as const],
  ])("is never followed by another try, even if it %s just before it could be stopped", async (_, outcome) => {
    const rig = await openRig();
    const run = await rig.submit([task("a", { retry: { attempts: 9 } })]);
    await cancel(rig, run, "a");
    rig.machine.at("a").ends(outcome);
    await rig.clock.advance(minutes(1));
    expect(statesOf(run)).toEqual({ a: "cancelled" });
    expect(rig.machine.started).toEqual(["a"]);
  });

  test("that was done before it could be stopped ends cancelled", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    await cancel(rig, run, "a");
    rig.machine.at("a").ends(success);
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "cancelled" });
  });

  test("twice stops it once", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    await cancel(rig, run, "a");
    await cancel(rig, run, "a");
    expect(rig.machine.at("a").stops).toHaveLength(1);
  });

  test("that is being stopped for another reason cancels it", async () => {
    const rig = await openRig();
    const run = await rig.submit([
      task("a", { retry: { attempts: 9 }, timeout: { soft: seconds(1), hard: minutes(1) } }),
    ]);
    rig.machine.at("a").starts();
    await rig.clock.advance(seconds(1));
    await cancel(rig, run, "a");
    rig.machine.at("a").obeys();
    await rig.clock.advance(seconds(1));
    expect(statesOf(run)).toEqual({ a: "cancelled" });
  });

  test("that has ended, or is not there, changes nothing, and the request is not kept", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b")]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    await cancel(rig, run, "a");
    await cancel(rig, run, "absent");
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "claimed" });
    expect(await rig.store.requests()).toEqual([]);
  });
});

describe("cancelling a run", () => {
  test("ends what waits, stops what runs, and then the run has been cancelled", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([task("a"), task("b"), task("c", { needs: ["a"] }), task("d", { gate: "sure?" })]);
    const idle = rig.engine.idle(run);
    await cancel(rig, run);
    expect(statesOf(run)).toEqual({ a: "claimed", b: "cancelled", c: "cancelled", d: "cancelled" });
    rig.machine.at("a").obeys();
    expect((await rig.promised(idle)).status).toMatchObject({ state: "finished", outcome: "cancelled" });
    expect(rig.machine.started).toEqual(["a"]);
    expect(await rig.kinds()).toContain("run_cancelling");
  });

  test("in which something had already failed has failed all the same", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([task("a"), task("b")]);
    rig.machine.at("a").fails();
    await rig.clock.settle();
    await cancel(rig, run);
    rig.machine.at("b").obeys();
    await rig.clock.settle();
    expect(run.status).toMatchObject({ outcome: "failed" });
  });

  test("that has finished is too late, and the request is not kept", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    const before = await rig.kinds();
    await cancel(rig, run);
    expect(await rig.kinds()).toEqual(before);
    expect(await rig.store.requests()).toEqual([]);
  });
});

describe("requests", () => {
  test("that no scheduler has heard yet are dealt with when one listens", async () => {
    const rig = await openRig({ workers: 1 });
    const run = await rig.submit([task("a"), task("b")]);
    rig.crash();
    await rig.store.request({ kind: "cancel", run: run.manifest.id, task: taskId("b"), by: "mo", at: rig.clock.now() });
    const resumed = await rig.resume(run.no);
    await rig.promised(rig.engine.takeRequests());
    expect(statesOf(resumed)).toMatchObject({ b: "cancelled" });
  });

  test("about runs of another scheduler are left to it", async () => {
    const rig = await openRig();
    await rig.submit([task("a")]);
    await rig.ask({ kind: "cancel", run: runId("run-9") });
    expect(await rig.store.requests()).toHaveLength(1);
  });

  test("that are heard of twice are dealt with once", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a")]);
    await rig.store.request({ kind: "cancel", run: run.manifest.id, by: "mo", at: rig.clock.now() });
    await rig.promised(Promise.all([rig.engine.takeRequests(), rig.engine.takeRequests()]));
    expect((await rig.kinds()).filter((kind) => kind === "run_cancelling")).toHaveLength(1);
  });
});

describe("gates", () => {
  test("hold a task back until a person approves", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", { gate: "Deploy?" }), task("b", { needs: ["a"] })]);
    expect(run.status.state).toBe("stalled");
    expect(rig.machine.started).toEqual([]);
    await rig.ask({ kind: "approve", run: run.manifest.id, task: taskId("a") });
    expect(rig.machine.started).toEqual(["a"]);
    expect(run.status.state).toBe("active");
    expect(await rig.kinds()).toEqual(["run_submitted", "run_stalled", "approved", "run_reopened", "claimed"]);
  });

  test("may be opened before it is the task's turn", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { needs: ["a"], gate: "Deploy?" })]);
    await rig.ask({ kind: "approve", run: run.manifest.id });
    expect(statesOf(run)).toEqual({ a: "claimed", b: "blocked" });
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(rig.machine.running).toEqual(["b"]);
  });

  test("are opened once: a second approval is nothing new", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", { gate: "Deploy?" }), task("b")]);
    for (let times = 0; times < 2; times++) await rig.ask({ kind: "approve", run: run.manifest.id });
    expect((await rig.kinds()).filter((kind) => kind === "approved")).toHaveLength(1);
    expect(find(run, "a").unmet).toBe(0);
  });
});

describe("a run that cannot go on by itself", () => {
  test("is stalled, says how much remains, and waiting callers are told", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { gate: "sure?" }), task("c", { needs: ["b"] })]);
    const idle = rig.engine.idle(run);
    rig.machine.at("a").succeeds();
    expect((await rig.promised(idle)).status).toEqual({ state: "stalled", at: rig.clock.now(), outcome: "waiting" });
    expect((await rig.store.events({})).at(-1)).toMatchObject({ kind: "run_stalled", remaining: 2 });
  });

  test.each([
    ["no node has what it requires", task("b", { requires: ["gpu"] })],
    ["it wants more than there is", task("b", { resources: { cpu: 3_000 } })],
  ])("because %s does not keep the rest from going on", async (_, impossible) => {
    const rig = await openRig({ workers: 1, capacity: { cpu: 2_000 } });
    const run = await rig.submit([
      { ...impossible, estimate: minutes(9) },
      task("a", { resources: { cpu: 1_000 } }),
      task("c"),
    ]);
    expect(rig.machine.running).toEqual(["a"]);
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    rig.machine.at("c").succeeds();
    await rig.clock.settle();
    expect(statesOf(run)).toEqual({ a: "succeeded", b: "ready", c: "succeeded" });
    expect(run.status.state).toBe("stalled");
  });

  test("is no task that only backs off, or waits for another run's worker", async () => {
    const rig = await openRig({ workers: 1 });
    const first = await rig.submit([task("a", { retry: { attempts: 2, backoff: seconds(20), factor: 1 } })]);
    const second = await rig.submit([task("b")], { id: runId("run-2") });
    expect(second.status.state).toBe("active");
    rig.machine.at("a").fails();
    await rig.clock.settle();
    expect([first.status.state, second.status.state]).toEqual(["active", "active"]);
    expect(rig.machine.running).toEqual(["b"]);
  });

  test("with parked work goes on when a person puts it back", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { needs: ["a"] })]);
    rig.machine.at("a").ends({ kind: "quota", durationMs: millis(1) });
    await rig.clock.settle();
    await rig.ask({ kind: "requeue", run: run.manifest.id, task: taskId("a") });
    rig.machine.at("a").succeeds();
    await rig.clock.settle();
    expect(find(run, "a")).toMatchObject({ attempt: 2, failures: 0 });
    expect(rig.machine.running).toEqual(["b"]);
  });

  test("with parked work comes to an end when a person cancels it", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a"), task("b", { needs: ["a"] })]);
    rig.machine.at("a").ends({ kind: "quota", durationMs: millis(1) });
    await rig.clock.settle();
    await cancel(rig, run, "a");
    expect(statesOf(run)).toEqual({ a: "cancelled", b: "skipped" });
    expect(run.status).toMatchObject({ state: "finished", outcome: "cancelled" });
  });

  test("is left alone by what people ask about others", async () => {
    const rig = await openRig();
    const run = await rig.submit([task("a", { gate: "sure?" })]);
    const other = await rig.promised(rig.engine.submit(manifest({ id: runId("run-2") }), [task("b")]));
    await cancel(rig, other, "b");
    expect(run.status.state).toBe("stalled");
  });
});

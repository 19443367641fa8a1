/** What keeps tasks from starting although a worker is idle: pressure, services that fail, rates, reservations, files. */
import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { find, openRig, type Rig, statesOf } from "../../test/rig/rig.ts";
import { waitsOf } from "../decide/explain/explain.ts";
import type { Run } from "../domain/run.ts";
import type { Priority, TaskSpec } from "../domain/spec.ts";
import { hours, later, millis, minutes, seconds } from "../domain/time.ts";

const waitOf = (rig: Rig, run: Run, id: string) => waitsOf(rig.engine.dispatcher, run, rig.clock.now())(find(run, id));
const many = (count: number, rest: Partial<TaskSpec> = {}, name = "t"): readonly TaskSpec[] =>
  Array.from({ length: count }, (_, at) =>
    task(`${name}${at}`, { ...rest, needs: [], after: [], retry: rest.retry ?? {} }),
  );

/** Ends what runs, in the order it was started, until `count` have ended. */
async function end(rig: Rig, count: number): Promise<void> {
  for (let ended = 0; ended < count; ended++) {
    rig.machine.at(rig.machine.running[0] as string).succeeds();
    await rig.clock.settle();
  }
}

describe("pressure", () => {
  const limits = { depth: 100, thresholds: [0.5, 0.8, 0.95] } as const;

  test("changes how many run at once, and is left only well below where it began", async () => {
    const rig = await openRig({ workers: 8, pressure: limits });
    await rig.submit(many(49));
    expect(rig.machine.running).toHaveLength(8);
    // 41 wait, and 20 more: 61 are over the half, so six may run. No running task is stopped for it.
    await rig.submit(many(20, {}, "u"), { id: "run-2" as never });
    expect(rig.engine.dispatcher.mode).toBe("moderate");
    await end(rig, 4);
    expect(rig.machine.running).toHaveLength(6);
    await end(rig, 11);
    // 49 would not have begun the mode, and do not end it.
    expect([rig.engine.dispatcher.pressure.queued, rig.engine.dispatcher.mode]).toEqual([49, "moderate"]);
    expect(rig.machine.running).toHaveLength(6);
    await end(rig, 6);
    expect(rig.engine.dispatcher.mode).toBe("normal");
    expect(rig.machine.running).toHaveLength(8);
  });

  test("lets less urgent work wait, and says so", async () => {
    const rig = await openRig({ workers: 8, pressure: limits });
    const run = await rig.submit([...many(84, { priority: "normal" }), ...many(3, { priority: "low" }, "low")]);
    expect(rig.engine.dispatcher.mode).toBe("high");
    expect(rig.machine.running).toHaveLength(2);
    expect(waitOf(rig, run, "low0")).toMatchObject({
      reason: "backpressure",
      mode: "high",
      depth: 100,
      deferred: true,
    });
    expect(waitOf(rig, run, "t80")).toMatchObject({ reason: "backpressure", allowed: 2, out: 2, deferred: false });
    await end(rig, 40);
    expect(rig.machine.started).toContain("low0");
  });

  test("makes time-outs longer, also of what runs already", async () => {
    const rig = await openRig({ workers: 1, pressure: limits });
    const timeout = { hard: minutes(1) };
    await rig.submit([task("slow", { timeout, priority: "critical", progress: minutes(9) })]);
    rig.machine.at("slow").starts();
    await rig.clock.advance(30_000);
    await rig.submit(many(85, { priority: "low" }), { id: "run-2" as never });
    await rig.clock.advance(100_000);
    expect(rig.machine.at("slow").stops).toEqual([]);
    await rig.clock.advance(20_000);
    expect(rig.machine.at("slow").stops).toMatchObject([{ reason: { kind: "timeout", limit: "hard" } }]);
  });

  test("that is over makes them as long as they were", async () => {
    // No heartbeat in between that would check the time-outs anyway.
    const rig = await openRig({ workers: 1, pressure: limits, heartbeat: minutes(10), leaseTtl: minutes(30) });
    await rig.submit(many(85, { priority: "low" }), { id: "run-2" as never });
    await rig.submit([task("slow", { timeout: { hard: minutes(1) }, priority: "critical" })]);
    await end(rig, 1);
    rig.machine.at("slow").starts();
    await rig.clock.advance(30_000);
    expect(rig.engine.dispatcher.mode).toBe("high");
    await rig.ask({ kind: "cancel", run: "run-2" as never });
    expect(rig.engine.dispatcher.mode).toBe("normal");
    await rig.clock.advance(29_999);
    expect(rig.machine.at("slow").stops).toEqual([]);
    await rig.clock.advance(1);
    expect(rig.machine.at("slow").stops).toMatchObject([{ reason: { kind: "timeout", limit: "hard" } }]);
  });

  test("refuses what does not fit, whole, and when it is critical all that is not", async () => {
    const rig = await openRig({ workers: 1, pressure: limits });
    await rig.submit(many(90, { priority: "critical" }));
    await expect(rig.submit(many(12, { priority: "critical" }, "u"))).rejects.toMatchObject({ code: "QUEUE_FULL" });
    await rig.submit(many(8, { priority: "critical" }, "v"), { id: "run-2" as never });
    await expect(rig.submit(many(1, {}, "w"))).rejects.toMatchObject({ code: "QUEUE_FULL" });
    expect(rig.engine.world.runs.size).toBe(2);
  });

  test("never stops a run that is larger than the queue and alone in it", async () => {
    const rig = await openRig({ workers: 4, pressure: limits });
    const run = await rig.submit(many(300));
    for (let ended = 0; ended < 300; ended++) await end(rig, 1);
    expect(run.status).toMatchObject({ state: "finished", outcome: "succeeded" });
  });
});

describe("a service that fails", () => {
  const flaky = (rest: Partial<TaskSpec> = {}): readonly TaskSpec[] =>
    many(20, {
      provider: "api",
      retry: { attempts: 9, backoff: millis(0), factor: 1, max: millis(0), on: [] },
      ...rest,
    });
  async function failFive(rig: Rig): Promise<void> {
    for (let failed = 0; failed < 5; failed++) {
      rig.machine.at(rig.machine.running[0] as string).fails();
      await rig.clock.settle();
    }
  }

  test("is left alone after five failures: tasks wait with that reason, and it costs them nothing", async () => {
    const rig = await openRig({ workers: 1, priorities: "strict" });
    const run = await rig.submit([...flaky(), task("other", { priority: "low" })]);
    await failFive(rig);
    expect(rig.machine.running).toEqual(["other"]);
    await end(rig, 1);
    const waiting = run.tasks.filter(({ attempt, status }) => attempt === 0 && status.state === "ready");
    expect(waiting.length).toBeGreaterThan(0);
    expect(waitOf(rig, run, "t11")).toMatchObject({ reason: "breaker-open", provider: "api", failures: 5 });
    const spent = run.tasks.map(({ failures, attempt }) => [failures, attempt]);
    await rig.clock.advance(50_000);
    expect(rig.machine.running).toEqual([]);
    expect(run.tasks.map(({ failures, attempt }) => [failures, attempt])).toEqual(spent);
    expect(run.status.state).toBe("active");
  });

  test.each([0, 1])(
    "is left alone by the next scheduler, too, and not longer where its clock is %d hours behind",
    async (behind) => {
      const rig = await openRig({ workers: 1 });
      const before = await rig.submit(flaky());
      await failFive(rig);
      expect(rig.machine.running).toEqual([]);
      rig.crash();
      rig.clock.setBack(hours(behind));
      const run = await rig.resume(before.no);
      expect(rig.machine.running).toEqual([]);
      expect(waitOf(rig, run, "t11")).toMatchObject({ reason: "breaker-open", provider: "api", failures: 5 });
      await rig.clock.advance(61_000);
      expect(rig.machine.running).toHaveLength(1);
    },
  );

  test("is tried by three after a minute; when they come back well, all tasks go again", async () => {
    const rig = await openRig({ workers: 8 });
    const run = await rig.submit(flaky());
    await failFive(rig);
    for (const id of rig.machine.running) rig.machine.at(id).succeeds();
    await rig.clock.settle();
    expect(rig.machine.running).toEqual([]);
    await rig.clock.advance(61_000);
    expect(rig.machine.running).toHaveLength(3);
    expect(waitOf(rig, run, "t11")?.reason).toBe("breaker-open");
    await end(rig, 3);
    expect(rig.machine.running.length).toBeGreaterThan(3);
  });

  test("is left alone again when one of them fails, and a trial that is given up makes room for another", async () => {
    const rig = await openRig({ workers: 8 });
    const run = await rig.submit(flaky());
    await failFive(rig);
    for (const id of rig.machine.running) rig.machine.at(id).succeeds();
    await rig.clock.advance(61_000);
    const [first, second] = rig.machine.running as [string, string];
    await rig.ask({ kind: "cancel", run: run.manifest.id, task: first as never });
    rig.machine.at(first).obeys();
    await rig.clock.settle();
    expect(rig.machine.running).toHaveLength(3);
    rig.machine.at(second).fails();
    await rig.clock.settle();
    await rig.clock.advance(59_000);
    expect(rig.machine.running).toHaveLength(2);
  });
});

describe("a rate", () => {
  test("lets through what it has, holds the rest until it has filled up, and is never exceeded in any span", async () => {
    const rig = await openRig({ workers: 9 });
    const rates = { tokens: { amount: 100, per: seconds(10) } };
    const run = await rig.submit(many(9, { resources: { tokens: 40 } }), { rates });
    expect(rig.machine.running).toEqual(["t0", "t1"]);
    expect(waitOf(rig, run, "t2")).toMatchObject({
      reason: "rate-limited",
      rates: [{ name: "tokens", asked: 40, level: 20, capacity: 100 }],
      until: later(rig.clock.now(), seconds(2)),
    });
    await rig.clock.advance(1_999);
    expect(rig.machine.started).toHaveLength(2);
    await rig.clock.advance(1);
    expect(rig.machine.started).toHaveLength(3);
    await rig.clock.advance(60_000);
    expect(rig.machine.started).toHaveLength(9);
    const starts = rig.told.filter(({ kind }) => kind === "claimed").map(({ at }) => at);
    for (const from of starts) {
      for (const to of starts.filter((each) => each >= from)) {
        const used = starts.filter((each) => each >= from && each <= to).length * 40;
        expect(used).toBeLessThanOrEqual(100 + ((to - from) / 10_000) * 100);
      }
    }
  });

  test("is not full again because the scheduler was restarted", async () => {
    const rig = await openRig({ workers: 9 });
    const rates = { tokens: { amount: 100, per: seconds(10) } };
    const run = await rig.submit(many(4, { resources: { tokens: 50 } }), { rates });
    expect(rig.machine.started).toHaveLength(2);
    rig.crash();
    await rig.resume(run.no);
    expect(rig.machine.started).toHaveLength(2);
    await rig.clock.advance(5_000);
    expect(rig.machine.started).toHaveLength(3);
  });
});

test("what ended tasks took of a rate is known after a restart", async () => {
  const rig = await openRig({ workers: 9 });
  const run = await rig.submit(many(4, { resources: { tokens: 50 } }), {
    rates: { tokens: { amount: 100, per: seconds(10) } },
  });
  rig.machine.at("t0").succeeds();
  rig.machine.at("t1").succeeds();
  await rig.clock.settle();
  rig.crash();
  await rig.resume(run.no);
  expect(rig.machine.started).toHaveLength(2);
  await rig.clock.advance(5_000);
  expect(rig.machine.started).toHaveLength(3);
});

test("what is large gets its turn among much that is small, and is said to be waited for", async () => {
  const rig = await openRig({ workers: 4, capacity: { cpu: 4 }, patience: { dispatches: 3, wait: seconds(1) } });
  const run = await rig.submit([
    task("big", { resources: { cpu: 4 }, estimate: seconds(99) }),
    ...many(30, { resources: { cpu: 1 }, priority: "high", estimate: seconds(10) }),
  ]);
  await rig.clock.advance(2_000);
  await end(rig, 3);
  await rig.clock.advance(2_000);
  for (let turn = 0; turn < 12 && !rig.machine.running.includes("big"); turn++) {
    await end(rig, 1);
    await rig.clock.advance(1_000);
  }
  expect(rig.machine.running).toEqual(["big"]);
  expect(run.counts.ready).toBeGreaterThan(10);
});

describe("an urgent task behind the files of a less urgent one", () => {
  const files = { writes: ["src/"] };
  const plan = (low: Priority): readonly TaskSpec[] => [
    task("holder", { ...files, priority: low, estimate: seconds(9), retry: { attempts: 2, backoff: millis(0) } }),
    task("before"),
    task("urgent", { ...files, priority: "high", needs: ["before"] }),
  ];

  test("has that recorded with how long it took, and the holder goes by its lane for what it still has to get", async () => {
    const rig = await openRig({ workers: 2 });
    const run = await rig.submit(plan("low"));
    expect(rig.machine.running).toContain("holder");
    rig.machine.at("before").succeeds();
    await rig.clock.settle();
    expect(find(run, "holder").lane).toBe("high");
    await rig.clock.advance(4_000);
    rig.machine.at("holder").fails();
    await rig.clock.settle();
    const kinds = (await rig.eventsOf(run, "holder")).map(({ kind }) => kind);
    expect(kinds).toContain("priority_inherited");
    const inversion = (await rig.eventsOf(run, "urgent")).find(({ kind }) => kind === "priority_inversion");
    expect(inversion).toMatchObject({ holder: find(run, "holder").no, forMs: 4_000 });
  });

  test("is nothing special when the holder is as urgent", async () => {
    const rig = await openRig({ workers: 2 });
    const run = await rig.submit(plan("high"));
    for (let turn = 0; turn < 12 && rig.machine.running.length > 0; turn++) await end(rig, 1);
    expect(statesOf(run).urgent).toBe("succeeded");
    expect(await rig.kinds()).not.toContain("priority_inversion");
  });
});

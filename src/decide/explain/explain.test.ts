import { describe, expect, test } from "vitest";
import { NOON, RunFixture, type SpecSketch } from "../../../test/rig/run-fixture.ts";
import { workerId } from "../../domain/ids.ts";
import { later, seconds } from "../../domain/time.ts";
import { Dispatcher } from "../dispatcher.ts";
import type { ExplainContext } from "./eligible.ts";
import { blockers, explain, waitsOf } from "./explain.ts";

const dispatcherFor = (fixture: RunFixture, workers = 2): Dispatcher => {
  const dispatcher = new Dispatcher({
    workers: Array.from({ length: workers }, (_, at) => workerId(`local/${at + 1}`)),
    capacity: { cpu: 4_000, gpu: 1 },
    capabilities: ["node"],
  });
  dispatcher.admit(fixture.run);
  return dispatcher;
};
const explained = (fixture: RunFixture, id: string, context?: ExplainContext) =>
  explain(dispatcherFor(fixture), fixture.run, fixture.task(id), fixture.now, context);
const waitOf = (fixture: RunFixture, id: string, context?: ExplainContext) => explained(fixture, id, context).wait;

describe("every task that waits has one reason", () => {
  test("needs: the tasks it waits for itself, and those that all of it hangs on", () => {
    const fixture = new RunFixture({
      fetch: {},
      build: { needs: ["fetch"] },
      lint: {},
      ship: { needs: ["build", "lint"] },
    });
    fixture.start("fetch").pass(3);
    const { wait, roots } = explained(fixture, "ship");
    expect(wait).toEqual({
      reason: "needs",
      blockers: {
        first: [
          { task: "build", state: "blocked" },
          { task: "lint", state: "ready", since: NOON },
        ],
        total: 2,
      },
    });
    expect(roots).toEqual({
      first: [
        { task: "lint", state: "ready", since: NOON },
        { task: "fetch", state: "running", since: NOON, worker: "local/1" },
      ],
      total: 2,
    });
  });

  test("needs: long lists are cut, and say how long they are", () => {
    const parts = Array.from({ length: 40 }, (_, at) => `part-${at}`);
    const fixture = new RunFixture({ ...Object.fromEntries(parts.map((id) => [id, {}])), all: { needs: parts } });
    const wait = waitOf(fixture, "all");
    expect(wait?.reason === "needs" && [wait.blockers.first.length, wait.blockers.total]).toEqual([5, 40]);
  });

  test("a need that ended is no reason for a task that asked only for its end", () => {
    const fixture = new RunFixture({ build: {}, report: { after: ["build"], needs: ["lint"] }, lint: {} });
    fixture.start("build").fail("build");
    expect(waitOf(fixture, "report")).toMatchObject({ blockers: { first: [{ task: "lint" }], total: 1 } });
  });

  test("gate: only once nothing else is in the way", () => {
    const fixture = new RunFixture({ build: {}, ship: { needs: ["build"], gate: "Ship it?" } });
    expect(waitOf(fixture, "ship")?.reason).toBe("needs");
    fixture.start("build").succeed("build");
    expect(waitOf(fixture, "ship")).toEqual({ reason: "gate", prompt: "Ship it?" });
  });

  test("paused: who asked for it", () => {
    const fixture = new RunFixture({ build: {} });
    expect(waitOf(fixture, "build", { paused: { by: "ada" } })).toEqual({ reason: "paused", asked: { by: "ada" } });
  });

  test("backing-off: until when, and after which failure", () => {
    const fixture = new RunFixture({ build: {} });
    fixture.start("build").pass(1);
    const lastOutcome = fixture.exit("build", 75);
    fixture.retry("build", 20, 75);
    const until = later(fixture.now, seconds(20));
    const { wait, unblock } = explained(fixture, "build", { lastOutcome });
    expect(wait).toEqual({ reason: "backing-off", until, after: lastOutcome });
    expect(unblock).toEqual({ at: until, from: "back-off" });
  });

  test("no-match: what no node has, and what there is too little of", () => {
    const fixture = new RunFixture({ train: { requires: ["node", "cuda"], resources: { gpu: 2, cpu: 1_000 } } });
    expect(waitOf(fixture, "train")).toEqual({
      reason: "no-match",
      missing: ["cuda"],
      tooMuch: [{ name: "gpu", scope: "machine", asked: 2, capacity: 1 }],
    });
  });

  test("hazard: the kind, the path as the plan writes it, and the holder", () => {
    const fixture = new RunFixture({ build: { writes: ["dist/"] }, docs: { reads: ["dist/api"] } });
    fixture.start("build");
    expect(waitOf(fixture, "docs")).toEqual({
      reason: "hazard",
      kind: "read-write",
      path: "dist/api",
      holder: { task: "build", state: "running", since: NOON, worker: "local/1" },
    });
  });

  test("resources: how much is asked for, is free, is there, and who has the rest", () => {
    const agents: Record<string, SpecSketch> = {
      plan: { resources: { claude: 2 } },
      review: { resources: { claude: 2 } },
    };
    const fixture = new RunFixture(agents, { resources: { claude: 3 } });
    fixture.start("plan");
    const holder = { task: "plan", state: "running", since: NOON, worker: "local/1", amount: 2 };
    expect(waitOf(fixture, "review")).toEqual({
      reason: "resources",
      short: [
        { name: "claude", scope: "plan", asked: 2, free: 1, capacity: 3, holders: { first: [holder], total: 1 } },
      ],
    });
  });

  test("capacity: how many workers there are, and how many are idle", () => {
    const fixture = new RunFixture({ a: {}, b: {}, c: {} });
    fixture.start("a", "local/1").start("b", "local/2");
    expect(waitOf(fixture, "c")).toEqual({ reason: "capacity", workers: 2, idle: 0 });
  });

  test("parked: why, and since when", () => {
    const fixture = new RunFixture({ build: {} });
    fixture.start("build").pass(1).of("build", { kind: "parked", reason: "attention" });
    expect(waitOf(fixture, "build")).toEqual({ reason: "parked", why: "attention", since: fixture.now });
  });

  test("and what is held, or has ended, has none", () => {
    const fixture = new RunFixture({ a: {}, b: {}, c: { needs: ["b"] } });
    fixture.start("a").start("b", "local/2").fail("b").skip("c", "b");
    const wait = waitsOf(dispatcherFor(fixture), fixture.run, fixture.now);
    expect(fixture.run.tasks.map(wait)).toEqual([undefined, undefined, undefined]);
  });
});

describe("when a wait is likely to end", () => {
  const minute = { estimate: seconds(60) };

  test("with the longest path before it, by estimates", () => {
    const fixture = new RunFixture({ a: minute, b: { ...minute, needs: ["a"] }, c: minute, d: { needs: ["b", "c"] } });
    fixture.start("a").pass(20);
    expect(explained(fixture, "d").unblock).toEqual({ at: later(NOON, seconds(120)), from: "path" });
  });

  test("the end is unknown when a person is part of that path", () => {
    const fixture = new RunFixture({ a: minute, b: { ...minute, needs: ["a"], gate: "Sure?" }, c: { needs: ["b"] } });
    expect(explained(fixture, "c").unblock).toBeUndefined();
  });

  test("with the holder of the files; when its estimate is past, with its time-out", () => {
    const holder = { ...minute, writes: ["dist/"], timeout: { hard: seconds(300) } };
    const fixture = new RunFixture({ build: holder, docs: { reads: ["dist/"] } });
    fixture.start("build").pass(20);
    expect(explained(fixture, "docs").unblock).toEqual({ at: later(NOON, seconds(60)), from: "estimate" });
    fixture.pass(60);
    expect(explained(fixture, "docs").unblock).toEqual({ at: later(NOON, seconds(300)), from: "time-out" });
  });

  test("with as many holders as must end for the request to fit", () => {
    const fixture = new RunFixture(
      {
        short: { estimate: seconds(10), resources: { claude: 1 } },
        long: { estimate: seconds(50), resources: { claude: 1 } },
        big: { resources: { claude: 2 } },
      },
      { resources: { claude: 2 } },
    );
    fixture.start("short", "local/1").start("long", "local/2");
    expect(explained(fixture, "big").unblock).toEqual({ at: later(NOON, seconds(50)), from: "estimate" });
  });

  test("with the first worker to be free", () => {
    const fixture = new RunFixture({ a: minute, b: { estimate: seconds(30) }, c: {} });
    fixture.start("a", "local/1").start("b", "local/2");
    expect(explained(fixture, "c").unblock).toEqual({ at: later(NOON, seconds(30)), from: "estimate" });
  });
});

test("the place in line is by rank, then by the order of the plan, among those of its priority that may go", () => {
  const fixture = new RunFixture({ a: {}, b: {}, c: {}, d: { needs: ["c"] }, urgent: { priority: "high" } });
  expect(["a", "b", "c"].map((id) => explained(fixture, id).position)).toEqual([
    { place: 2, of: 3 },
    { place: 3, of: 3 },
    { place: 1, of: 3 },
  ]);
  expect(explained(fixture, "urgent").position).toEqual({ place: 1, of: 1 });
});

test("an estimate says where it comes from", () => {
  const fixture = new RunFixture({ a: { estimate: seconds(9) }, b: {}, c: {} });
  expect(explained(fixture, "a").estimate).toEqual({ ms: seconds(9), source: "plan" });
  expect(explained(fixture, "b").estimate).toEqual({ ms: seconds(9), source: "typical" });
  fixture.start("c").pass(4).succeed("c");
  expect(explained(fixture, "b").estimate).toEqual({ ms: seconds(4), source: "observed" });
  expect(explained(new RunFixture({ a: {} }), "a").estimate).toBeUndefined();
});

test("every gate is listed with its numbers, whether it is open or not", () => {
  const fixture = new RunFixture({
    fetch: {},
    build: { needs: ["fetch"], gate: "Go?", requires: ["node"], writes: ["dist/"], resources: { cpu: 1_000 } },
  });
  fixture.start("fetch");
  expect(explained(fixture, "build").gates).toEqual([
    { gate: "needs", open: false, met: 0, total: 1 },
    { gate: "approval", open: false, prompt: "Go?" },
    { gate: "capabilities", open: true, missing: [], total: 1 },
    { gate: "files", open: true, reads: 0, writes: 1 },
    { gate: "resource", open: true, name: "cpu", scope: "machine", asked: 1_000, free: 4_000, capacity: 4_000 },
    { gate: "workers", open: true, idle: 1, total: 2 },
  ]);
});

test("a skipped task names the task that began the chain", () => {
  const fixture = new RunFixture({ a: {}, b: { needs: ["a"] }, c: { needs: ["b"] } });
  fixture.start("a").fail("a").skip("b", "a").skip("c", "b");
  expect(explained(fixture, "c").because?.map(({ task, state }) => [task, state])).toEqual([
    ["b", "skipped"],
    ["a", "failed"],
  ]);
});

describe("blockers", () => {
  test("name what holds each remaining task back, and the far end of it", () => {
    const fixture = new RunFixture({ a: { gate: "Go?" }, b: { needs: ["a"] }, c: { needs: ["b"] }, done: {} });
    fixture.start("done").succeed("done");
    expect(
      blockers(dispatcherFor(fixture), fixture.run, fixture.now).map(({ task, wait, root }) => [
        task,
        wait.reason,
        root?.task,
      ]),
    ).toEqual([
      ["a", "gate", undefined],
      ["b", "needs", "a"],
      ["c", "needs", "a"],
    ]);
  });

  test("of ten thousand tasks in one chain, and of as many that share a shortage", () => {
    const ids = Array.from({ length: 10_000 }, (_, at) => `t${at}`);
    const chain = new RunFixture(
      Object.fromEntries(ids.map((id, at) => [id, at === 0 ? { gate: "Go?" } : { needs: [ids[at - 1] as string] }])),
    );
    const found = blockers(dispatcherFor(chain), chain.run, chain.now);
    expect([found.length, found.at(-1)?.root?.task]).toEqual([10_000, "t0"]);
    const crowd = new RunFixture(Object.fromEntries(ids.map((id) => [id, { resources: { gpu: 1 } }])));
    crowd.start("t0");
    const reasons = blockers(dispatcherFor(crowd), crowd.run, crowd.now).map(({ wait }) => wait.reason);
    expect([reasons.length, new Set(reasons)]).toEqual([9_999, new Set(["resources"])]);
  });
});

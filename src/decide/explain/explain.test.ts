import { describe, expect, test } from "vitest";
import { NOON, type SpecSketch, Story } from "../../../test/rig/story.ts";
import { workerId } from "../../domain/ids.ts";
import { later, seconds } from "../../domain/time.ts";
import { Dispatcher } from "../dispatcher.ts";
import type { ExplainContext } from "./eligible.ts";
import { blockers, explain, waitsOf } from "./explain.ts";

const dispatcherFor = (story: Story, workers = 2): Dispatcher => {
  const dispatcher = new Dispatcher({
    workers: Array.from({ length: workers }, (_, at) => workerId(`local/${at + 1}`)),
    capacity: { cpu: 4_000, gpu: 1 },
    capabilities: ["node"],
  });
  dispatcher.admit(story.run);
  return dispatcher;
};
const explained = (story: Story, id: string, context?: ExplainContext) =>
  explain(dispatcherFor(story), story.run, story.task(id), story.now, context);
const waitOf = (story: Story, id: string, context?: ExplainContext) => explained(story, id, context).wait;

describe("every task that waits has one reason", () => {
  test("needs: the tasks it waits for itself, and those that all of it hangs on", () => {
    const story = new Story({ fetch: {}, build: { needs: ["fetch"] }, lint: {}, ship: { needs: ["build", "lint"] } });
    story.start("fetch").pass(3);
    const { wait, roots } = explained(story, "ship");
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
    const story = new Story({ ...Object.fromEntries(parts.map((id) => [id, {}])), all: { needs: parts } });
    const wait = waitOf(story, "all");
    expect(wait?.reason === "needs" && [wait.blockers.first.length, wait.blockers.total]).toEqual([5, 40]);
  });

  test("a need that ended is no reason for a task that asked only for its end", () => {
    const story = new Story({ build: {}, report: { after: ["build"], needs: ["lint"] }, lint: {} });
    story.start("build").fail("build");
    expect(waitOf(story, "report")).toMatchObject({ blockers: { first: [{ task: "lint" }], total: 1 } });
  });

  test("gate: only once nothing else is in the way", () => {
    const story = new Story({ build: {}, ship: { needs: ["build"], gate: "Ship it?" } });
    expect(waitOf(story, "ship")?.reason).toBe("needs");
    story.start("build").succeed("build");
    expect(waitOf(story, "ship")).toEqual({ reason: "gate", prompt: "Ship it?" });
  });

  test("paused: who asked for it", () => {
    const story = new Story({ build: {} });
    expect(waitOf(story, "build", { paused: { by: "ada" } })).toEqual({ reason: "paused", asked: { by: "ada" } });
  });

  test("backing-off: until when, and after which failure", () => {
    const story = new Story({ build: {} });
    story.start("build").pass(1);
    const lastOutcome = story.exit("build", 75);
    story.retry("build", 20, 75);
    const until = later(story.now, seconds(20));
    const { wait, unblock } = explained(story, "build", { lastOutcome });
    expect(wait).toEqual({ reason: "backing-off", until, after: lastOutcome });
    expect(unblock).toEqual({ at: until, from: "back-off" });
  });

  test("no-match: what no node has, and what there is too little of", () => {
    const story = new Story({ train: { requires: ["node", "cuda"], resources: { gpu: 2, cpu: 1_000 } } });
    expect(waitOf(story, "train")).toEqual({
      reason: "no-match",
      missing: ["cuda"],
      tooMuch: [{ name: "gpu", scope: "machine", asked: 2, capacity: 1 }],
    });
  });

  test("hazard: the kind, the path as the plan writes it, and the holder", () => {
    const story = new Story({ build: { writes: ["dist/"] }, docs: { reads: ["dist/api"] } });
    story.start("build");
    expect(waitOf(story, "docs")).toEqual({
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
    const story = new Story(agents, { resources: { claude: 3 } });
    story.start("plan");
    const holder = { task: "plan", state: "running", since: NOON, worker: "local/1", amount: 2 };
    expect(waitOf(story, "review")).toEqual({
      reason: "resources",
      short: [
        { name: "claude", scope: "plan", asked: 2, free: 1, capacity: 3, holders: { first: [holder], total: 1 } },
      ],
    });
  });

  test("capacity: how many workers there are, and how many are idle", () => {
    const story = new Story({ a: {}, b: {}, c: {} });
    story.start("a", "local/1").start("b", "local/2");
    expect(waitOf(story, "c")).toEqual({ reason: "capacity", workers: 2, idle: 0 });
  });

  test("parked: why, and since when", () => {
    const story = new Story({ build: {} });
    story.start("build").pass(1).of("build", { kind: "parked", reason: "attention" });
    expect(waitOf(story, "build")).toEqual({ reason: "parked", why: "attention", since: story.now });
  });

  test("and what is held, or has ended, has none", () => {
    const story = new Story({ a: {}, b: {}, c: { needs: ["b"] } });
    story.start("a").start("b", "local/2").fail("b").skip("c", "b");
    const wait = waitsOf(dispatcherFor(story), story.run, story.now);
    expect(story.run.tasks.map(wait)).toEqual([undefined, undefined, undefined]);
  });
});

describe("when a wait is likely to end", () => {
  const minute = { estimate: seconds(60) };

  test("with the longest path before it, by estimates", () => {
    const story = new Story({ a: minute, b: { ...minute, needs: ["a"] }, c: minute, d: { needs: ["b", "c"] } });
    story.start("a").pass(20);
    expect(explained(story, "d").unblock).toEqual({ at: later(NOON, seconds(120)), from: "path" });
  });

  test("the end is unknown when a person is part of that path", () => {
    const story = new Story({ a: minute, b: { ...minute, needs: ["a"], gate: "Sure?" }, c: { needs: ["b"] } });
    expect(explained(story, "c").unblock).toBeUndefined();
  });

  test("with the holder of the files; when its estimate is past, with its time-out", () => {
    const holder = { ...minute, writes: ["dist/"], timeout: { hard: seconds(300) } };
    const story = new Story({ build: holder, docs: { reads: ["dist/"] } });
    story.start("build").pass(20);
    expect(explained(story, "docs").unblock).toEqual({ at: later(NOON, seconds(60)), from: "estimate" });
    story.pass(60);
    expect(explained(story, "docs").unblock).toEqual({ at: later(NOON, seconds(300)), from: "time-out" });
  });

  test("with as many holders as must end for the request to fit", () => {
    const story = new Story(
      {
        short: { estimate: seconds(10), resources: { claude: 1 } },
        long: { estimate: seconds(50), resources: { claude: 1 } },
        big: { resources: { claude: 2 } },
      },
      { resources: { claude: 2 } },
    );
    story.start("short", "local/1").start("long", "local/2");
    expect(explained(story, "big").unblock).toEqual({ at: later(NOON, seconds(50)), from: "estimate" });
  });

  test("with the first worker to be free", () => {
    const story = new Story({ a: minute, b: { estimate: seconds(30) }, c: {} });
    story.start("a", "local/1").start("b", "local/2");
    expect(explained(story, "c").unblock).toEqual({ at: later(NOON, seconds(30)), from: "estimate" });
  });
});

test("the place in line is by rank, then by the order of the plan, among those of its priority that may go", () => {
  const story = new Story({ a: {}, b: {}, c: {}, d: { needs: ["c"] }, urgent: { priority: "high" } });
  expect(["a", "b", "c"].map((id) => explained(story, id).position)).toEqual([
    { place: 2, of: 3 },
    { place: 3, of: 3 },
    { place: 1, of: 3 },
  ]);
  expect(explained(story, "urgent").position).toEqual({ place: 1, of: 1 });
});

test("an estimate says where it comes from", () => {
  const story = new Story({ a: { estimate: seconds(9) }, b: {}, c: {} });
  expect(explained(story, "a").estimate).toEqual({ ms: seconds(9), source: "plan" });
  expect(explained(story, "b").estimate).toEqual({ ms: seconds(9), source: "typical" });
  story.start("c").pass(4).succeed("c");
  expect(explained(story, "b").estimate).toEqual({ ms: seconds(4), source: "observed" });
  expect(explained(new Story({ a: {} }), "a").estimate).toBeUndefined();
});

test("every gate is listed with its numbers, whether it is open or not", () => {
  const story = new Story({
    fetch: {},
    build: { needs: ["fetch"], gate: "Go?", requires: ["node"], writes: ["dist/"], resources: { cpu: 1_000 } },
  });
  story.start("fetch");
  expect(explained(story, "build").gates).toEqual([
    { gate: "needs", open: false, met: 0, total: 1 },
    { gate: "approval", open: false, prompt: "Go?" },
    { gate: "capabilities", open: true, missing: [], total: 1 },
    { gate: "files", open: true, reads: 0, writes: 1 },
    { gate: "resource", open: true, name: "cpu", scope: "machine", asked: 1_000, free: 4_000, capacity: 4_000 },
    { gate: "workers", open: true, idle: 1, total: 2 },
  ]);
});

test("a skipped task names the task that began the chain", () => {
  const story = new Story({ a: {}, b: { needs: ["a"] }, c: { needs: ["b"] } });
  story.start("a").fail("a").skip("b", "a").skip("c", "b");
  expect(explained(story, "c").because?.map(({ task, state }) => [task, state])).toEqual([
    ["b", "skipped"],
    ["a", "failed"],
  ]);
});

describe("blockers", () => {
  test("name what holds each remaining task back, and the far end of it", () => {
    const story = new Story({ a: { gate: "Go?" }, b: { needs: ["a"] }, c: { needs: ["b"] }, done: {} });
    story.start("done").succeed("done");
    expect(
      blockers(dispatcherFor(story), story.run, story.now).map(({ task, wait, root }) => [
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
    const chain = new Story(
      Object.fromEntries(ids.map((id, at) => [id, at === 0 ? { gate: "Go?" } : { needs: [ids[at - 1] as string] }])),
    );
    const found = blockers(dispatcherFor(chain), chain.run, chain.now);
    expect([found.length, found.at(-1)?.root?.task]).toEqual([10_000, "t0"]);
    const crowd = new Story(Object.fromEntries(ids.map((id) => [id, { resources: { gpu: 1 } }])));
    crowd.start("t0");
    const reasons = blockers(dispatcherFor(crowd), crowd.run, crowd.now).map(({ wait }) => wait.reason);
    expect([reasons.length, new Set(reasons)]).toEqual([9_999, new Set(["resources"])]);
  });
});

import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { START } from "../../../test/rig/clock.ts";
import { Floor, failure, slots } from "../../../test/rig/floor.ts";
import { workerId } from "../../domain/ids.ts";
import { later, millis, seconds } from "../../domain/time.ts";
import { eligible } from "./eligible.ts";
import { explain } from "./explain.ts";

const ask = (floor: Floor, id: string, worker?: string) => {
  const { run, task: each } = floor.find(id);
  return eligible(floor.dispatcher, run, each, worker === undefined ? undefined : workerId(worker), floor.now);
};
const reasons = (floor: Floor, id: string, worker?: string): readonly object[] => {
  const answer = ask(floor, id, worker);
  return answer.ok ? [] : answer.reasons;
};
const gate = (floor: Floor, id: string, name: string) => {
  const { run, task: each } = floor.find(id);
  return explain(floor.dispatcher, run, each, floor.now).gates.find((found) => found.gate === name);
};

describe("a task may go", () => {
  test("when nothing stands in its way, to any worker that is idle", () => {
    const floor = new Floor({ workers: 2 });
    floor.submit([task("a"), task("b")]);
    expect(ask(floor, "a")).toEqual({ ok: true });
    floor.claimNext();
    expect(ask(floor, "b", "w2")).toEqual({ ok: true });
    expect(reasons(floor, "b", "w1")).toEqual([{ reason: "capacity", workers: 1, idle: 0 }]);
    expect(reasons(floor, "a")).toEqual([{ reason: "state", state: "claimed" }]);
  });

  test("to a worker of a node that can do it and has room, and to no other", () => {
    const floor = new Floor({
      workers: 1,
      capacity: { cpu: 1 },
      others: [{ name: "far", workers: slots(2, "far"), capacity: { cpu: 4 }, capabilities: ["cuda"] }],
    });
    floor.submit([task("a", { requires: ["cuda"], resources: { cpu: 1 } }), task("b", { resources: { cpu: 3 } })]);
    expect(ask(floor, "a", "far1")).toEqual({ ok: true });
    expect(reasons(floor, "a", "w1")).toEqual([{ reason: "no-match", missing: ["cuda"], tooMuch: [] }]);
    expect(reasons(floor, "b", "w1")).toMatchObject([{ reason: "no-match", missing: [] }]);
    floor.claimNext();
    floor.claimNext();
    expect(floor.held().map(({ worker }) => worker)).toEqual(["far1", "far2"]);
  });
});

describe("every reason is told at once, with its numbers", () => {
  test("backpressure: the mode, how full the queue is, and what may go", () => {
    const floor = new Floor({ workers: 4 });
    floor.dispatcher.pressure = { mode: "high", queued: 85, depth: 100 };
    floor.submit([task("a", { priority: "critical" }), task("b"), task("c", { priority: "low" })]);
    floor.round();
    const pressure = { reason: "backpressure", mode: "high", queued: 85, depth: 100, allowed: 1, out: 1 };
    expect(reasons(floor, "b")).toEqual([{ ...pressure, deferred: false }]);
    expect(reasons(floor, "c")).toEqual([{ ...pressure, deferred: true }]);
    expect(gate(floor, "c", "pressure")).toEqual({
      gate: "pressure",
      open: false,
      mode: "high",
      queued: 85,
      depth: 100,
    });
  });

  test("breaker-open: which service, how often it failed, and until when it is left alone", () => {
    const floor = new Floor({ workers: 9 });
    const run = floor.submit(Array.from({ length: 9 }, (_, at) => task(`t${at}`, { provider: "api" })));
    for (const each of run.tasks.slice(0, 5)) {
      floor.claimNext();
      floor.end(run, each, failure);
    }
    const until = later(START, seconds(60));
    expect(reasons(floor, "t7")).toEqual([{ reason: "breaker-open", provider: "api", failures: 5, until }]);
    expect(gate(floor, "t7", "service")).toMatchObject({ open: false, provider: "api", state: "open", failures: 5 });
    expect(floor.dispatcher.nextWake(floor.now)).toBe(until);
    floor.pass(60_000);
    expect(floor.round()).toEqual(["t5", "t6", "t7"]);
    expect(reasons(floor, "t8")).toEqual([{ reason: "breaker-open", provider: "api", failures: 5 }]);
    expect(gate(floor, "t8", "service")).toMatchObject({ open: false, state: "half-open" });
  });

  test("rate-limited: which rate, what is asked and there, and when it will have filled up", () => {
    const floor = new Floor({ workers: 4 });
    floor.submit([task("a", { resources: { tokens: 500 } }), task("b", { resources: { tokens: 400 } })], {
      rates: { tokens: { amount: 600, per: seconds(60) } },
    });
    expect(floor.round()).toEqual(["a"]);
    floor.pass(5_000);
    const at = later(START, seconds(30));
    expect(reasons(floor, "b")).toEqual([
      {
        reason: "rate-limited",
        rates: [{ name: "tokens", asked: 400, level: 150, capacity: 600, per: seconds(60), at }],
        until: at,
      },
    ]);
    expect(gate(floor, "b", "rate")).toMatchObject({ open: false, asked: 400, level: 150, capacity: 600 });
    floor.round();
    expect(floor.dispatcher.nextWake(floor.now)).toBe(at);
    floor.now = later(START, millis(29_999));
    expect(floor.round()).toEqual([]);
    floor.now = at;
    expect(floor.round()).toEqual(["b"]);
  });

  test("resources: on the node that comes closest, and who holds them", () => {
    const floor = new Floor({
      workers: 2,
      capacity: { cpu: 2, memory: 2 },
      others: [{ name: "far", workers: slots(2, "far"), capacity: { cpu: 2, memory: 4 }, capabilities: [] }],
    });
    floor.submit([
      task("a", { resources: { cpu: 2, memory: 2 } }),
      task("b", { resources: { cpu: 1, memory: 4 } }),
      task("c", { resources: { cpu: 1, memory: 1 } }),
    ]);
    expect(floor.round()).toEqual(["a", "b"]);
    expect(reasons(floor, "c")).toMatchObject([
      {
        reason: "resources",
        short: [{ name: "memory", asked: 1, free: 0, capacity: 4, holders: { first: [{ task: "b" }] } }],
      },
    ]);
  });

  test("several at once, from what comes first to what comes last", () => {
    const floor = new Floor({ workers: 1, capacity: { cpu: 2 } });
    floor.submit([
      task("a", { resources: { cpu: 2 }, writes: ["x"], estimate: seconds(9) }),
      task("b", { resources: { cpu: 1 }, writes: ["x"] }),
      task("c", { needs: ["a"], gate: "Go?" }),
    ]);
    floor.round();
    expect(reasons(floor, "b").map((each) => (each as { reason: string }).reason)).toEqual(["hazard", "resources"]);
    expect(reasons(floor, "c").map((each) => (each as { reason: string }).reason)).toEqual(["needs", "gate"]);
  });
});

test("an estimate says that it comes from earlier runs", () => {
  const floor = new Floor();
  const run = floor.submit([task("a"), task("b")]);
  floor.dispatcher.admit(run, {
    durations: new Map([["a", { count: 3, meanLog: Math.log(5_000) }]]),
    error: { count: 0, sumOfSquares: 0 },
  });
  const [a, b] = run.tasks;
  if (a === undefined || b === undefined) throw new Error("there are two");
  const of = (each: typeof a) => explain(floor.dispatcher, run, each, floor.now);
  expect(of(a).estimate).toEqual({ ms: 5_000, source: "history" });
  expect(of(b).estimate).toEqual({ ms: 5_000, source: "typical" });
  expect(of(a).rankUnit).toBe("ms");
});

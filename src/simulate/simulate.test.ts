import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { always } from "../../test/rig/property.ts";
import { NO_HISTORY } from "../domain/durations/history.ts";
import type { Placement } from "../domain/durations/schedule.ts";
import { overlaps } from "../domain/paths.ts";
import { PRIORITIES, type TaskSpec } from "../domain/spec.ts";
import { DURATION_MAX, type Millis, millis, seconds } from "../domain/time.ts";
import { lowerBound } from "./bound.ts";
import { criticalPath } from "./critical-path.ts";
import { type Simulated, type SiteSpec, simulate } from "./simulate.ts";
import { resourceUse, workerUse } from "./use.ts";

const SITE: SiteSpec = {
  nodes: 1,
  workers: 2,
  capacity: {},
  resources: {},
  rates: {},
  priorities: "shares",
  pools: {},
};

interface Given {
  readonly site?: Partial<SiteSpec>;
  /** True durations; without one the estimate, and without that a second. */
  readonly actual?: Readonly<Record<string, number>>;
  readonly history?: typeof NO_HISTORY;
}

const durationsOf = (specs: readonly TaskSpec[], actual: Given["actual"] = {}): readonly Millis[] =>
  specs.map(({ id, estimate }) => millis(actual[id] ?? estimate ?? 1_000));

const simulated = (
  specs: readonly TaskSpec[],
  { site, actual, history = NO_HISTORY }: Given = {},
): Promise<Simulated> =>
  simulate({ name: "plan", specs, site: { ...SITE, ...site }, durations: durationsOf(specs, actual), history });

const startsOf = ({ schedule }: Simulated): Record<string, number> =>
  Object.fromEntries(schedule.map(({ task: id, start }) => [id, start]));
const orderOf = ({ schedule }: Simulated): string[] => schedule.map(({ task: id }) => id);

describe("a simulation of pools", () => {
  const specs = [
    task("plan", { pool: "writers", estimate: seconds(2), workspace: "/w", requires: ["english"], gate: "Sure?" }),
    task("write", { pool: "writers", estimate: seconds(3) }),
    task("build", { estimate: seconds(4) }),
    task("print", { needs: ["write", "plan"], pool: "printers", estimate: seconds(1) }),
  ];

  test("has their tasks done by their own sessions, each one at a time", async () => {
    const { schedule, makespan, stalled } = await simulated(specs, { site: { pools: { writers: 1, printers: 1 } } });
    expect(schedule.map(({ task: id, worker, start, end }) => [id, worker, start, end])).toEqual([
      ["build", "local/1", 0, 4_000],
      ["write", "writers-1", 0, 3_000],
      ["plan", "writers-1", 3_000, 5_000],
      ["print", "printers-1", 5_000, 6_000],
    ]);
    expect({ makespan, stalled }).toEqual({ makespan: 6_000, stalled: [] });
    expect((await simulated(specs, { site: { pools: { writers: 2, printers: 1 } } })).makespan).toBe(4_000);
  });

  test("says of a pool without a session that nothing of it can start", async () => {
    const { stalled } = await simulated(specs, { site: { pools: { writers: 1, printers: 0 } } });
    expect(stalled).toMatchObject([{ task: "print", wait: { reason: "no-match", pool: "printers" } }]);
  });

  test("cannot be faster than the sessions of one pool allow", async () => {
    const site = { ...SITE, pools: { writers: 1, printers: 1 } };
    const { run } = await simulated(specs, { site });
    expect(lowerBound({ specs, graph: run.graph, durations: durationsOf(specs) }, site)).toEqual({
      ms: 5_000,
      because: { kind: "pool", name: "writers" },
    });
  });
});

describe("a simulation", () => {
  test("places every task on a worker, from its start to its end", async () => {
    const specs = [task("a", { estimate: seconds(2) }), task("b", { estimate: seconds(3), needs: ["a"] }), task("c")];
    const { schedule, makespan, stalled } = await simulated(specs);
    expect(schedule.map(({ task: id, worker, start, end }) => [id, worker, start, end])).toEqual([
      ["a", "local/1", 0, 2_000],
      ["c", "local/2", 0, 1_000],
      ["b", "local/1", 2_000, 5_000],
    ]);
    expect({ makespan, stalled }).toEqual({ makespan: 5_000, stalled: [] });
  });

  test("orders by what the scheduler believes, and lasts as long as is true", async () => {
    const specs = [task("short", { estimate: seconds(1) }), task("long", { estimate: seconds(9) }), task("third")];
    const actual = { short: 90_000, long: 10 };
    const run = await simulated(specs, { site: { workers: 1 }, actual });
    expect(orderOf(run)).toEqual(orderOf(await simulated(specs, { site: { workers: 1 } })));
    expect(startsOf(run)).toEqual({ long: 0, third: 10, short: 1_010 });
    expect(run.makespan).toBe(91_010);
  });

  test("lets the scheduler know what earlier runs have shown", async () => {
    const specs = [task("a"), task("b")];
    const durations = new Map([
      ["b", { count: 3, meanLog: Math.log(60_000) }],
      ["a", { count: 3, meanLog: 0 }],
    ]);
    const history = { ...NO_HISTORY, durations };
    expect(orderOf(await simulated(specs, { site: { workers: 1 } }))).toEqual(["a", "b"]);
    expect(orderOf(await simulated(specs, { site: { workers: 1 }, history }))).toEqual(["b", "a"]);
  });

  test("takes gates as open, and neither stops nor repeats anything", async () => {
    const specs = [
      task("a", { gate: "Sure?", timeout: { soft: seconds(1), hard: seconds(2) }, progress: seconds(1) }),
      task("b", { needs: ["a"], retry: { attempts: 3 } }),
    ];
    const run = await simulated(specs, { actual: { a: 60_000 } });
    expect(startsOf(run)).toEqual({ a: 0, b: 60_000 });
    expect(run.run.tasks.map(({ attempt }) => attempt)).toEqual([1, 1]);
  });

  test("passes over a year in no time: no worker has to renew a lease", async () => {
    const specs = Array.from({ length: 64 }, (_, at) => task(`t${at}`, { estimate: DURATION_MAX }));
    const { makespan } = await simulated(specs, { site: { workers: 64 } });
    expect(makespan).toBe(DURATION_MAX);
  });

  test("says what can never start, and why, and does the rest", async () => {
    const specs = [task("big", { resources: { cpu: 4_000 } }), task("after", { needs: ["big"] }), task("small")];
    const { schedule, stalled } = await simulated(specs, { site: { capacity: { cpu: 2_000 } } });
    expect(schedule).toMatchObject([{ task: "small" }]);
    expect(stalled).toMatchObject([
      { task: "big", wait: { reason: "no-match", tooMuch: [{ name: "cpu", asked: 4_000, capacity: 2_000 }] } },
      { task: "after", wait: { reason: "needs" }, root: { task: "big" } },
    ]);
  });

  test("has machines that are all alike, each with what one has", async () => {
    const specs = ["a", "b", "c"].map((id) => task(id, { resources: { cpu: 2_000 } }));
    const site = { workers: 2, capacity: { cpu: 2_000 } };
    expect((await simulated(specs, { site })).makespan).toBe(3_000);
    const two = await simulated(specs, { site: { ...site, nodes: 2 } });
    expect(two.makespan).toBe(2_000);
    expect(new Set(two.schedule.map(({ worker }) => worker))).toEqual(new Set(["node1/1", "node2/1"]));
  });

  test("goes by the priorities it is told to", async () => {
    const specs = [
      ...["l1", "l2", "l3"].map((id) => task(id, { priority: "low" })),
      ...["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9", "c10", "c11", "c12"].map((id) =>
        task(id, { priority: "critical" }),
      ),
    ];
    const strict = await simulated(specs, { site: { workers: 1, priorities: "strict" } });
    expect(orderOf(strict).slice(-3)).toEqual(["l1", "l2", "l3"]);
    const shares = await simulated(specs, { site: { workers: 1 } });
    expect(orderOf(shares).slice(-3)).not.toEqual(["l1", "l2", "l3"]);
  });

  test("knows the patience of the scheduler", async () => {
    const crowd = Array.from({ length: 40 }, (_, at) => task(`c${at}`, { priority: "critical" }));
    const specs = [task("low", { priority: "low" }), ...crowd];
    const placeOf = async (wait: Millis): Promise<number> => {
      const site = { workers: 1, patience: { dispatches: 1, wait } };
      return orderOf(await simulated(specs, { site: { ...site, priorities: "strict" } })).indexOf("low");
    };
    expect(await placeOf(seconds(1_000))).toBe(40);
    expect(await placeOf(seconds(3))).toBeLessThan(20);
  });

  test("knows the pressure of a queue that is full: less is done at once", async () => {
    const specs = Array.from({ length: 20 }, (_, at) => task(`t${at}`, { priority: "low" }));
    const pressure = { depth: 10, thresholds: [0.5, 0.8, 0.95] } as const;
    expect((await simulated(specs)).makespan).toBe(10_000);
    expect((await simulated(specs, { site: { pressure } })).makespan).toBeGreaterThan(10_000);
  });

  test("waits for a rate to fill up again", async () => {
    const specs = ["a", "b", "c"].map((id) => task(id, { resources: { tokens: 10 } }));
    const run = await simulated(specs, { site: { workers: 3, rates: { tokens: { amount: 10, per: seconds(5) } } } });
    expect(startsOf(run)).toEqual({ a: 0, b: 5_000, c: 10_000 });
  });
});

describe("use", () => {
  test("is each worker's share of the time, and each resource's over time", async () => {
    const specs = [
      task("a", { estimate: seconds(4), resources: { claude: 2 } }),
      task("b", { resources: { claude: 1 } }),
    ];
    const site: SiteSpec = { ...SITE, workers: 3, resources: { claude: 3, idle: 9 } };
    const { schedule, makespan } = await simulated(specs, { site });
    expect(workerUse(schedule, site, makespan).map(({ tasks, use }) => [tasks, use])).toEqual([
      [1, 1],
      [1, 0.25],
      [0, 0],
    ]);
    expect(resourceUse(specs, schedule, site, makespan)).toEqual([{ name: "claude", capacity: 3, use: 0.75 }]);
  });
});

const CAPACITY = { cpu: 3 };
const RESOURCES = { slots: 2 };
const RATES = { tokens: { amount: 4, per: millis(10) } };

interface Case {
  readonly specs: readonly TaskSpec[];
  readonly durations: readonly Millis[];
  readonly site: SiteSpec;
}

/** Small numbers, so that much happens at the same moment. */
const arbitraryTask = fc.record({
  needs: fc.array(fc.nat(30), { maxLength: 3 }),
  after: fc.array(fc.nat(30), { maxLength: 1 }),
  estimate: fc.option(fc.nat(20), { nil: undefined }),
  lasts: fc.nat(12),
  priority: fc.constantFrom(...PRIORITIES),
  cpu: fc.constantFrom(0, 0, 1, 2, 3),
  slots: fc.constantFrom(0, 0, 0, 1, 2),
  tokens: fc.constantFrom(0, 0, 0, 1, 4),
  reads: fc.subarray(["db", "src/"], { maxLength: 1 }),
  writes: fc.subarray(["db", "src/a.ts", "src/"], { maxLength: 1 }),
  pool: fc.constantFrom(undefined, undefined, undefined, "writers"),
});

const arbitraryCase = (withRates: boolean): fc.Arbitrary<Case> =>
  fc
    .record({
      tasks: fc.array(arbitraryTask, { minLength: 1, maxLength: 25 }),
      workers: fc.integer({ min: 1, max: 4 }),
      nodes: fc.integer({ min: 1, max: 2 }),
      pools: fc.record({ writers: fc.integer({ min: 1, max: 2 }) }),
      priorities: fc.constantFrom("shares" as const, "strict" as const),
    })
    .map(({ tasks, ...rest }) => {
      const before = (at: number, some: readonly number[]): string[] =>
        some.filter((other) => other < at).map((other) => `t${other}`);
      const specs = tasks.map(({ needs, after, estimate, cpu, slots, tokens, ...more }, at) =>
        task(`t${at}`, {
          needs: before(at, needs),
          after: before(at, after),
          ...(estimate !== undefined && { estimate: millis(estimate) }),
          resources: { cpu, slots, ...(withRates && { tokens }) },
          priority: more.priority,
          reads: more.reads,
          writes: more.writes,
          ...(more.pool !== undefined && { pool: more.pool }),
        }),
      );
      const site: SiteSpec = { ...rest, capacity: CAPACITY, resources: RESOURCES, rates: withRates ? RATES : {} };
      return { specs, durations: tasks.map(({ lasts }) => millis(lasts)), site };
    });

describe("whatever the plan", () => {
  test("no law is broken at any instant, and nothing is faster than the bound", async () => {
    await always(
      400,
      fc.asyncProperty(arbitraryCase(true), async ({ specs, durations, site }) => {
        const { run, schedule, makespan, stalled } = await simulate({
          name: "plan",
          specs,
          site,
          durations,
          history: NO_HISTORY,
        });
        expect(stalled).toEqual([]);
        expect(brokenLaws(specs, durations, schedule, site)).toEqual([]);
        expect(lowerBound({ specs, graph: run.graph, durations }, site).ms).toBeLessThanOrEqual(makespan);
      }),
    );
  });

  test("the critical path reaches from the beginning to the end without a gap", async () => {
    await always(
      400,
      fc.asyncProperty(arbitraryCase(false), async ({ specs, durations, site }) => {
        const found = await simulate({ name: "plan", specs, site, durations, history: NO_HISTORY });
        const path = criticalPath(found.run, found.schedule);
        expect(path.at(-1)?.end).toBe(found.makespan);
        expect(path.map(({ start }) => start)).toEqual([0, ...path.slice(0, -1).map(({ end }) => end)]);
      }),
    );
  });

  test("fractions of milliseconds do not carry the bound over the makespan", async () => {
    await always(
      200,
      fc.asyncProperty(arbitraryCase(false), fc.double({ min: 0.01, max: 10, noNaN: true }), async (given, factor) => {
        const { specs, site } = given;
        const durations = given.durations.map((each) => millis(each * factor));
        const { run, makespan } = await simulate({ name: "plan", specs, site, durations, history: NO_HISTORY });
        expect(lowerBound({ specs, graph: run.graph, durations }, site).ms).toBeLessThanOrEqual(makespan);
      }),
    );
  });

  test("the same plan gives the same schedule", async () => {
    await always(
      50,
      fc.asyncProperty(arbitraryCase(true), async (given) => {
        const once = await simulate({ name: "plan", ...given, history: NO_HISTORY });
        const again = await simulate({ name: "plan", ...given, history: NO_HISTORY });
        expect(again.schedule).toEqual(once.schedule);
      }),
    );
  });
});

/** Every law that the schedule breaks, judged by the plan and the schedule alone. */
function brokenLaws(
  specs: readonly TaskSpec[],
  durations: readonly Millis[],
  schedule: readonly Placement[],
  site: SiteSpec,
): readonly string[] {
  const broken: string[] = [];
  const placed = new Map(schedule.map((placement) => [placement.task, placement]));
  if (placed.size !== specs.length || schedule.length !== specs.length) broken.push("each task once");
  for (const [no, { id, needs, after }] of specs.entries()) {
    const { start, end } = placed.get(id) as Placement;
    if (end - start !== durations[no]) broken.push(`${id} lasts ${end - start}, not ${durations[no]}`);
    for (const need of [...needs, ...after]) {
      if ((placed.get(need) as Placement).end > start) broken.push(`${id} starts before ${need} has ended`);
    }
  }
  for (const now of new Set(schedule.map(({ start }) => start))) {
    const out = schedule.filter(({ start, end }) => start <= now && now < end);
    broken.push(...brokenAt(now, out, specs, site));
  }
  return [...broken, ...brokenRates(specs, schedule, site)];
}

const nodeOf = ({ worker }: Placement): string => worker.split("/")[0] as string;

/** `out`: the tasks that run at that moment. */
function brokenAt(
  now: number,
  out: readonly Placement[],
  specs: readonly TaskSpec[],
  site: SiteSpec,
): readonly string[] {
  const specOf = ({ no }: Placement): TaskSpec => specs[no] as TaskSpec;
  const broken: string[] = [];
  const taken = (some: readonly Placement[], name: string): number =>
    some.reduce((sum, each) => sum + (specOf(each).resources[name] ?? 0), 0);
  if (new Set(out.map(({ worker }) => worker)).size !== out.length) broken.push(`${now}: a worker has two tasks`);
  const local = out.filter((each) => specOf(each).pool === undefined);
  const pooled = out.filter((each) => specOf(each).pool !== undefined);
  if (pooled.some(({ worker }) => !/^writers-[12]$/.test(worker)))
    broken.push(`${now}: a task of a pool done by another worker`);
  if (local.length > site.workers * site.nodes) broken.push(`${now}: more tasks than workers`);
  if (taken(out, "slots") > RESOURCES.slots) broken.push(`${now}: too many slots`);
  for (const [node, there] of Map.groupBy(local, nodeOf)) {
    if (there.length > site.workers) broken.push(`${now}: more tasks than workers on ${node}`);
    if (taken(there, "cpu") > CAPACITY.cpu) broken.push(`${now}: too much cpu on ${node}`);
  }
  for (const [at, one] of out.entries()) {
    for (const other of out.slice(at + 1)) {
      if (collide(specOf(one), specOf(other)))
        broken.push(`${now}: ${one.task} and ${other.task} touch the same files`);
    }
  }
  return broken;
}

const collide = (a: TaskSpec, b: TaskSpec): boolean => {
  const meet = (xs: readonly string[], ys: readonly string[]) => xs.some((x) => ys.some((y) => overlaps(x, y)));
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
};

/** Between any two moments no more is taken than was there and came in. */
function brokenRates(specs: readonly TaskSpec[], schedule: readonly Placement[], site: SiteSpec): readonly string[] {
  const broken: string[] = [];
  for (const [name, { amount, per }] of Object.entries(site.rates)) {
    const draws = schedule.map(({ no, start }) => ({ at: start, asked: (specs[no] as TaskSpec).resources[name] ?? 0 }));
    for (const { at: from } of draws) {
      for (const { at: to } of draws.filter(({ at }) => at >= from)) {
        const within = draws.filter(({ at }) => at >= from && at <= to);
        const taken = within.reduce((sum, { asked }) => sum + asked, 0);
        if (taken > amount + (amount * (to - from)) / per + 1e-6) broken.push(`${from}–${to}: too much of ${name}`);
      }
    }
  }
  return broken;
}

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { Floor, slots } from "../../../test/rig/floor.ts";
import { always } from "../../../test/rig/property.ts";
import { buildGraph, type Graph, taskNo } from "../../domain/graph.ts";
import type { Run } from "../../domain/run.ts";
import { millis, seconds } from "../../domain/time.ts";
import { Dispatcher } from "../dispatcher.ts";
import type { Demands } from "./demands.ts";
import { upwardRanks } from "./rank.ts";
import { ranksFromBothEnds } from "./schedule-ranks.ts";

/** With two workers: in the order of the longest paths `side` keeps `build` waiting until 4 s, and the end is at 7 s. With `side` first it is at 6 s. */
const PLAN = [
  task("side", { estimate: seconds(3) }),
  task("fetch", { estimate: seconds(1) }),
  task("long", { estimate: seconds(5) }),
  task("build", { needs: ["fetch"], estimate: seconds(3) }),
];
const LONGEST_PATHS = [3_000, 4_000, 5_000, 3_000];

const ranksIn = (dispatcher: Dispatcher, run: Run): number[] =>
  run.tasks.map((each) => dispatcher.runs.rank(run, each));
const firstOf = (workers: number, plan = PLAN): number[] => {
  const floor = new Floor({ workers });
  return ranksIn(floor.dispatcher, floor.submit(plan));
};

describe("the order a run begins with", () => {
  test("makes room for what would end last otherwise", () => {
    expect(firstOf(2)).toEqual([6_000, 6_000, 5_000, 3_000]);
  });

  test.each([1, 3, 4])(
    "is the longest paths first where nothing ends sooner otherwise, as for %i workers",
    (workers) => {
      expect(firstOf(workers)).toEqual(LONGEST_PATHS);
    },
  );

  test("is what comes out best of going there and back twice, be it the first time or the second", () => {
    const plan = (costs: readonly number[], needs: Readonly<Record<number, readonly string[]>>) =>
      costs.map((cost, at) => task(`t${at}`, { needs: needs[at] ?? [], estimate: seconds(cost) }));
    const bestAtFirst = plan([2, 1, 6, 2, 3], { 3: ["t1"], 4: ["t0"] });
    expect(firstOf(2, bestAtFirst)).toEqual([8, 6, 6, 2, 5].map(seconds));
    const bestAtLast = plan([6, 1, 6, 2, 5, 2, 4], { 2: ["t1"], 6: ["t1", "t3"] });
    expect(firstOf(3, bestAtLast)).toEqual([8, 9, 6, 8, 9, 2, 4].map(seconds));
  });

  test("is the longest paths first where another brings less than a hundredth", () => {
    const later = [...PLAN, task("rest", { needs: ["side", "long", "build"], estimate: seconds(92) })];
    expect(firstOf(2, later)).not.toEqual(firstOf(1, later));
    const muchLater = [...PLAN, task("rest", { needs: ["side", "long", "build"], estimate: seconds(94) })];
    expect(firstOf(2, muchLater)).toEqual(firstOf(1, muchLater));
  });

  test("counts hops where no duration is known", () => {
    const needs = [[], ["t0"], ["t0"], ["t0"], ["t1", "t3"], [], ["t2", "t3"], ["t3"]];
    const hops = [3, 2, 2, 2, 1, 1, 1, 1];
    expect(
      firstOf(
        2,
        needs.map((each, at) => task(`t${at}`, { needs: each })),
      ),
    ).toEqual(hops);
    const alike = needs.map((each, at) => task(`t${at}`, { needs: each, estimate: millis(1) }));
    expect(firstOf(2, alike)).not.toEqual(hops);
  });

  test("is the longest paths first in runs too large to play through", () => {
    const tiny = (count: number) => Array.from({ length: count }, (_, at) => task(`x${at}`, { estimate: millis(0) }));
    expect(firstOf(2, [...PLAN, ...tiny(2_996)]).slice(0, 4)).toEqual(firstOf(2));
    expect(firstOf(2, [...PLAN, ...tiny(2_997)]).slice(0, 4)).toEqual(LONGEST_PATHS);
  });

  test("knows what there is besides workers, of the machine and of the plan", () => {
    const asking = PLAN.map((spec) => ({ ...spec, resources: { oven: 1 } }));
    const ours = new Floor({ workers: 9 });
    expect(ranksIn(ours.dispatcher, ours.submit(asking, { resources: { oven: 2 } }))).toEqual(firstOf(2));
    const theirs = new Floor({ workers: 9, capacity: { oven: 2 } });
    expect(ranksIn(theirs.dispatcher, theirs.submit(asking))).toEqual(firstOf(2));
  });

  test("is the same for a run that is taken up again in the middle, and for a run that comes while every worker is taken", () => {
    const asking = PLAN.map((spec) => ({ ...spec, resources: { oven: 1 } }));
    const floor = new Floor({ workers: 9, capacity: { oven: 2 } });
    const run = floor.submit(asking);
    expect(floor.round()).toEqual(["side", "fetch"]);
    const next = new Dispatcher({ workers: slots(9), capacity: { oven: 2 }, capabilities: [] });
    next.admit(run);
    expect(ranksIn(next, run)).toEqual(firstOf(2));
    expect(ranksIn(floor.dispatcher, floor.submit(asking))).toEqual(firstOf(2));
  });

  test("takes what fills up again by itself to last", () => {
    const floor = new Floor({ workers: 2 });
    const asking = PLAN.map((spec) => ({ ...spec, resources: { tokens: 1 } }));
    const run = floor.submit(asking, { rates: { tokens: { amount: 1, per: seconds(1) } } });
    expect(ranksIn(floor.dispatcher, run)).toEqual(firstOf(2));
  });

  test("looks past tasks that no worker can ever do", () => {
    const floor = new Floor({ workers: 2 });
    const impossible = task("feast", { estimate: millis(0), resources: { oven: 2 } });
    const behind = PLAN.map(({ id, ...rest }) => task(id, { ...rest, after: ["feast"] }));
    const run = floor.submit([...behind, impossible], { resources: { oven: 1 } });
    expect(ranksIn(floor.dispatcher, run).slice(0, 4)).toEqual(firstOf(2));
  });
});

interface Loose {
  readonly needs: readonly number[];
  readonly cost: number;
  readonly ask: number;
}

const loose: fc.Arbitrary<readonly Loose[]> = fc.array(
  fc.record({ needs: fc.array(fc.nat(), { maxLength: 2 }), cost: fc.nat(9), ask: fc.nat(4) }),
  { minLength: 1, maxLength: 14, size: "max" },
);
const supplies = fc.record({ workers: fc.integer({ min: 1, max: 4 }), other: fc.integer({ min: 4, max: 6 }) });

const graphOf = (tasks: readonly Loose[]): Graph =>
  buildGraph(
    tasks.map(({ needs }, at) => task(`t${at}`, { needs: at === 0 ? [] : needs.map((need) => `t${need % at}`) })),
  );

/** The same by hand, unit by unit: every task that fits starts, the higher rank first. */
function lengthBy(ranks: Float64Array, graph: Graph, tasks: readonly Loose[], supply: readonly number[]): number {
  const ends = new Map<number, number>();
  const order = [...ranks.keys()].sort((a, b) => (ranks[b] as number) - (ranks[a] as number));
  for (let now = 0; ; now++) {
    for (let size = -1; size !== ends.size; ) {
      size = ends.size;
      const out = [...ends].filter(([, end]) => end > now).map(([no]) => tasks[no] as Loose);
      const free = [
        (supply[0] as number) - out.length,
        (supply[1] as number) - out.reduce((sum, { ask }) => sum + ask, 0),
      ];
      const next = order.find((no) => {
        let isReady = !ends.has(no);
        graph.eachNeed(taskNo(no), (need) => {
          isReady &&= (ends.get(need) ?? Number.POSITIVE_INFINITY) <= now;
        });
        return isReady && (free[0] as number) >= 1 && (free[1] as number) >= (tasks[no] as Loose).ask;
      });
      if (next !== undefined) ends.set(next, now + (tasks[next] as Loose).cost);
    }
    if (ends.size === tasks.length) return Math.max(...ends.values());
  }
}

const demandsOf = (tasks: readonly Loose[], supply: readonly number[]): Demands => ({
  kinds: 2,
  free: Float64Array.from(supply),
  asks: Float64Array.from(tasks.flatMap(({ ask }) => [1, ask])),
});

describe("ranks from both ends", () => {
  test("are the longest paths, or end sooner by a hundredth at least", async () => {
    await always(
      500,
      fc.property(loose, supplies, (tasks, { workers, other }) => {
        // What takes no time comes and goes within a moment, and by hand there is no telling in which order.
        const all = tasks.map((each) => ({ ...each, cost: each.cost + 1 }));
        const graph = graphOf(all);
        const costs = Float64Array.from(all, ({ cost }) => cost);
        const paths = upwardRanks(graph, costs);
        const ranks = ranksFromBothEnds(graph, costs, demandsOf(all, [workers, other]));
        const before = lengthBy(paths, graph, all, [workers, other]);
        if (ranks.some((rank, no) => rank !== paths[no])) {
          expect(lengthBy(ranks, graph, all, [workers, other])).toBeLessThan(before * 0.99);
        }
      }),
    );
  });

  test("leave after each task at least as much as takes what waits for it", async () => {
    await always(
      300,
      fc.property(loose, supplies, (tasks, { workers, other }) => {
        const graph = graphOf(tasks);
        const ranks = ranksFromBothEnds(
          graph,
          Float64Array.from(tasks, ({ cost }) => cost),
          demandsOf(tasks, [workers, other]),
        );
        for (const [no, { cost }] of tasks.entries()) {
          expect(ranks[no]).toBeGreaterThanOrEqual(cost);
          graph.eachDependent(taskNo(no), (dependent) => {
            expect(ranks[no]).toBeGreaterThanOrEqual(cost + (ranks[dependent] as number));
          });
        }
      }),
    );
  });

  test("are the longest paths where one thing is done after the other, since every order takes as long", async () => {
    await always(
      300,
      fc.property(loose, (tasks) => {
        const graph = graphOf(tasks);
        const costs = Float64Array.from(tasks, ({ cost }) => cost);
        expect(ranksFromBothEnds(graph, costs, demandsOf(tasks, [1, 4]))).toEqual(upwardRanks(graph, costs));
      }),
    );
  });

  test("are the longest paths where there is no worker", () => {
    const graph = graphOf([{ needs: [], cost: 3, ask: 0 }]);
    const costs = Float64Array.of(3);
    expect(ranksFromBothEnds(graph, costs, demandsOf([{ needs: [], cost: 3, ask: 0 }], [0, 0]))).toEqual(costs);
  });
});

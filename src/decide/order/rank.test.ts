import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { always } from "../../../test/rig/property.ts";
import { buildGraph } from "../../domain/graph.ts";
import type { TaskSpec } from "../../domain/spec.ts";
import { millis, seconds } from "../../domain/time.ts";
import { estimate } from "./estimates.ts";
import { upwardRanks } from "./rank.ts";

const planCosts = (specs: readonly TaskSpec[]): Float64Array =>
  estimate(specs, () => undefined, { count: 0, sumOfSquares: 0 }).costs;

const ranksOf = (specs: readonly TaskSpec[]): number[] => [...upwardRanks(buildGraph(specs), planCosts(specs))];

describe("ranks", () => {
  test("count hops when no duration is known", () => {
    expect(ranksOf([task("a"), task("b", { needs: ["a"] }), task("c", { after: ["b"] }), task("d")])).toEqual([
      3, 2, 1, 1,
    ]);
  });

  test("add up what the plan expects on the longest way to the end", () => {
    const specs = [
      task("a", { estimate: seconds(1) }),
      task("short", { needs: ["a"], estimate: seconds(2) }),
      task("long", { needs: ["a"], estimate: seconds(9) }),
    ];
    expect(ranksOf(specs)).toEqual([10_000, 2_000, 9_000]);
  });

  test("are the longest path that trying every path finds", async () => {
    const graphs = fc.array(fc.record({ needs: fc.array(fc.nat(), { maxLength: 3 }), cost: fc.nat(50) }), {
      maxLength: 12,
      size: "max",
    });
    await always(
      300,
      fc.property(graphs, fc.boolean(), (loose, reversed) => {
        const specs = loose.map(({ needs, cost }, at) =>
          task(`t${at}`, { needs: at === 0 ? [] : needs.map((need) => `t${need % at}`), estimate: millis(cost) }),
        );
        if (reversed) specs.reverse();
        const costs = planCosts(specs);
        const longest = (id: string): number => {
          const waiting = specs.filter(({ needs }) => needs.some((need) => need === id));
          const at = specs.findIndex((spec) => spec.id === id);
          return (costs[at] as number) + Math.max(0, ...waiting.map((spec) => longest(spec.id)));
        };
        expect(ranksOf(specs)).toEqual(specs.map(({ id }) => longest(id)));
      }),
    );
  });

  test("of a chain of 100,000 do not need a deep stack", () => {
    const specs = Array.from({ length: 100_000 }, (_, at) => task(`t${at}`, at === 0 ? {} : { needs: [`t${at - 1}`] }));
    expect(ranksOf(specs)[0]).toBe(100_000);
  });
});

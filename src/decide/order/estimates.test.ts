import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { always } from "../../../test/rig/property.ts";
import { millis, seconds } from "../../domain/time.ts";
import { ESTIMATE_SOURCES, estimate, trust } from "./estimates.ts";

const NO_ERROR = { count: 0, sumOfSquares: 0 };
const nothing = (): undefined => undefined;

describe("estimates", () => {
  test("are the plan's, and a task without one is taken to be like the others", () => {
    const { costs, sources } = estimate(
      [task("a", { estimate: seconds(1) }), task("b", { estimate: seconds(4) }), task("c")],
      nothing,
      NO_ERROR,
    );
    expect([...costs].map(Math.round)).toEqual([1_000, 4_000, 2_000]);
    expect([...sources].map((source) => ESTIMATE_SOURCES[source])).toEqual(["plan", "plan", "typical"]);
  });

  test("are what was recorded, where the plan says nothing", () => {
    const recorded = { count: 3, meanLog: Math.log(5_000) };
    const { costs, sources } = estimate(
      [task("a"), task("b")],
      ({ id }) => (id === "a" ? recorded : undefined),
      NO_ERROR,
    );
    expect([...costs].map(Math.round)).toEqual([5_000, 5_000]);
    expect([...sources].map((source) => ESTIMATE_SOURCES[source])).toEqual(["history", "typical"]);
  });

  test("are hops when nothing at all is known", () => {
    const { costs, known } = estimate([task("a"), task("b", { estimate: millis(0) })], nothing, NO_ERROR);
    expect([...costs]).toEqual([1, 1]);
    expect(known).toBe(false);
  });

  test("are drawn together by as much of their spread as is error", () => {
    const specs = [task("a", { estimate: seconds(1) }), task("b", { estimate: seconds(100) })];
    const spread = (error: typeof NO_ERROR): number => {
      const { costs } = estimate(specs, nothing, error);
      return (costs[1] as number) / (costs[0] as number);
    };
    expect(spread(NO_ERROR)).toBeCloseTo(100);
    expect(spread({ count: 100, sumOfSquares: 100 })).toBeGreaterThan(1);
    expect(spread({ count: 100, sumOfSquares: 100 })).toBeLessThan(100);
    // When the errors are as wide as the estimates themselves, these say nothing.
    expect(spread({ count: 100, sumOfSquares: 1_000 })).toBeCloseTo(1);
  });

  test("are trusted between not at all and wholly, the less the more they were off", async () => {
    await always(
      200,
      fc.property(
        fc.double({ min: 0.01, max: 10, noNaN: true }),
        fc.double({ min: 0, max: 10, noNaN: true }),
        fc.double({ min: 0, max: 10, noNaN: true }),
        (variance, one, other) => {
          const [less, more] = [Math.min(one, other), Math.max(one, other)];
          const trusted = (error: number): number => trust(variance, { count: 10, sumOfSquares: error * 10 });
          expect(trusted(less)).toBeGreaterThanOrEqual(trusted(more));
          expect(trusted(more)).toBeGreaterThanOrEqual(0);
          expect(trusted(less)).toBeLessThanOrEqual(1);
        },
      ),
    );
  });
});

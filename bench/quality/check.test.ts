import { expect, test } from "vitest";
import { seconds } from "../../src/domain/time.ts";
import { task } from "../../test/rig/builders.ts";
import { nothing, truth } from "./beliefs.ts";
import { makespanOf, violationsOf } from "./check.ts";
import { drive } from "./drive.ts";
import { greedy } from "./greedy.ts";
import type { Instance } from "./instances.ts";

/** Two at a time, of which one may use the oven: nine seconds, and no less. */
const INSTANCE: Instance = {
  set: "made up",
  name: "one",
  specs: [
    task("a", { estimate: seconds(4), resources: { oven: 1 } }),
    task("b", { estimate: seconds(5), resources: { oven: 1 } }),
    task("c", { estimate: seconds(3), needs: ["a"] }),
  ],
  resources: { oven: 1 },
  workers: 2,
  best: 9,
  lowerBound: 9,
};

const schedule = (starts: readonly number[], ends: readonly number[]) => ({
  starts: Float64Array.from(starts, seconds),
  ends: Float64Array.from(ends, seconds),
});

test.each([
  ["nothing in what is right", [0, 4, 4], [4, 9, 7], []],
  ["a need that was not waited for", [5, 0, 4], [9, 5, 7], ["c began before a had ended"]],
  ["too much of something at once", [0, 0, 6], [4, 5, 9], ["more oven than there is at 0"]],
  ["too many at work at once", [0, 4, 4], [4, 9, 7], ["more workers than there is at 4000"], { workers: 1 }],
  ["a task that was cut short", [0, 4, 4], [4, 9, 6], ["c took another time than it takes"]],
  ["a task that never ran", [0, 4, Number.NaN], [4, 9, Number.NaN], ["c took another time than it takes"]],
  ["what is too good to be true", [0, 4, 4], [4, 9, 7], ["9 is below the lower bound of 10"], { lowerBound: 10 }],
] as const)("finds %s", (_, starts, ends, found, change: Partial<Instance> = {}) => {
  expect(violationsOf({ ...INSTANCE, ...change }, schedule(starts, ends))).toEqual(found);
});

test.each(["plain", "rollout", "auto"] as const)(
  "finds nothing in what the engine does by policy %s",
  async (policy) => {
    for (const believe of [truth, nothing]) {
      const driven = await drive(INSTANCE, believe(INSTANCE), policy);
      expect(violationsOf(INSTANCE, driven)).toEqual([]);
      expect(makespanOf(driven)).toBeLessThanOrEqual(12);
    }
  },
);

test("list scheduling takes the longest path first, by what it is told, and whatever fits besides", () => {
  expect(greedy(INSTANCE, truth(INSTANCE))).toEqual(schedule([0, 4, 4], [4, 9, 7]));
  const misled = { ...truth(INSTANCE), estimates: [1, 9, 1].map(seconds) };
  expect(greedy(INSTANCE, misled)).toEqual(schedule([5, 0, 9], [9, 5, 12]));
  const specs = [...INSTANCE.specs, task("d", { estimate: seconds(2) })];
  const more = { ...INSTANCE, specs };
  expect(greedy(more, truth(more))).toEqual(schedule([0, 4, 4, 0], [4, 9, 7, 2]));
});

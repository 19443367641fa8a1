import { expect, test } from "vitest";
import { run as newRun, task } from "../../../test/rig/builders.ts";
import { Commons } from "./shared-resources.ts";

test("what a plan declares is there for as long as one pool has work of its run", () => {
  const commons = new Commons();
  const run = newRun([task("a")], { resources: { gpu: 2 } });
  const capacities = (): readonly number[] => [...commons.shared.pots()].map(({ capacity }) => capacity);
  commons.join(run);
  commons.join(run);
  commons.leave(run);
  expect(capacities()).toEqual([2]);
  commons.leave(run);
  expect(capacities()).toEqual([]);
});

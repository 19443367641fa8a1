import { expect, test } from "vitest";
import { run as newRun, task } from "../../../test/rig/builders.ts";
import { SharedResources } from "./shared-resources.ts";

test("what a plan declares is there for as long as one pool has work of its run", () => {
  const shared = new SharedResources();
  const run = newRun([task("a")], { resources: { gpu: 2 } });
  const capacities = (): readonly number[] => [...shared.shared.resources()].map(({ capacity }) => capacity);
  shared.join(run);
  shared.join(run);
  shared.leave(run);
  expect(capacities()).toEqual([2]);
  shared.leave(run);
  expect(capacities()).toEqual([]);
});

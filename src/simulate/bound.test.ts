import { expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { buildGraph } from "../domain/graph.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { type Millis, millis, seconds } from "../domain/time.ts";
import { lowerBound } from "./bound.ts";
import type { SiteSpec } from "./simulate.ts";

const SITE: SiteSpec = {
  nodes: 1,
  workers: 2,
  capacity: {},
  resources: {},
  rates: {},
  priorities: "shares",
  pools: {},
};
const second = { estimate: seconds(1) };

const boundOf = (
  specs: readonly TaskSpec[],
  site: Partial<SiteSpec> = {},
  durations = specs.map(({ estimate }) => estimate as Millis),
) => lowerBound({ specs, graph: buildGraph(specs), durations }, { ...SITE, ...site });

test("a chain cannot be faster than its links one after the other", () => {
  const specs = [task("a", second), task("b", { ...second, needs: ["a"] }), task("c", { ...second, after: ["b"] })];
  expect(boundOf(specs)).toEqual({ ms: 3_000, because: { kind: "path" } });
});

test("all work takes at least its share on each worker, rounded up to what can be", () => {
  const specs = ["a", "b", "c", "d"].map((id) => task(id, second));
  expect(boundOf(specs, { workers: 3 })).toEqual({ ms: 1_334, because: { kind: "work" } });
  expect(boundOf(specs, { workers: 1, nodes: 2 })).toEqual({ ms: 2_000, because: { kind: "work" } });
});

test("a resource bears no more than there is of it, on all machines together or in all", () => {
  const specs = ["a", "b", "c"].map((id) => task(id, { ...second, resources: { cpu: 3_000, claude: 1 } }));
  const site = { workers: 9, capacity: { cpu: 4_000 } };
  expect(boundOf(specs, site)).toEqual({ ms: 2_250, because: { kind: "resource", name: "cpu" } });
  expect(boundOf(specs, { ...site, nodes: 2 })).toEqual({ ms: 1_125, because: { kind: "resource", name: "cpu" } });
  expect(boundOf(specs, { ...site, nodes: 2, resources: { claude: 1 } })).toEqual({
    ms: 3_000,
    because: { kind: "resource", name: "claude" },
  });
});

test("before the last task that takes of a rate can start, the rate must have brought what the others took", () => {
  const specs = ["a", "b", "c"].map((id) => task(id, { ...second, resources: { tokens: 10 } }));
  const rates = { tokens: { amount: 10, per: seconds(5) } };
  expect(boundOf(specs, { rates })).toEqual({ ms: 11_000, because: { kind: "resource", name: "tokens" } });
});

test("sums that are a little off do not make it one too many", () => {
  const specs = Array.from({ length: 10 }, (_, at) => task(`t${at}`));
  const durations = specs.map(() => millis(0.1));
  const { ms } = boundOf(specs, { workers: 1 }, durations);
  expect(ms).toBeLessThanOrEqual(1);
  expect(ms).toBeCloseTo(1, 6);
});

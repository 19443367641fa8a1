import { expect, test } from "vitest";
import { task } from "../../test/rig/builders.ts";
import { NO_HISTORY } from "../domain/durations/history.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { type Millis, millis, seconds } from "../domain/time.ts";
import { criticalPath } from "./critical-path.ts";
import { type SiteSpec, simulate } from "./simulate.ts";

const lasts = (span: number) => ({ estimate: seconds(span) });

async function pathOf(specs: readonly TaskSpec[], rest: Partial<SiteSpec> = {}): Promise<string[]> {
  const site: SiteSpec = {
    nodes: 1,
    workers: 9,
    capacity: {},
    resources: {},
    rates: {},
    priorities: "shares",
    pools: {},
    ...rest,
  };
  const durations = specs.map(({ estimate }) => estimate as Millis);
  const { run, schedule } = await simulate({ name: "plan", specs, site, durations, history: NO_HISTORY });
  return criticalPath(run, schedule).map(({ task: id }) => id);
}

test("goes through the need that ended last", async () => {
  const specs = [task("a", lasts(1)), task("b", lasts(3)), task("c", { ...lasts(1), needs: ["a", "b"] })];
  expect(await pathOf(specs)).toEqual(["b", "c"]);
});

test("goes through the task that had the worker", async () => {
  const specs = [task("a", lasts(5)), task("b", lasts(4)), task("c", lasts(2))];
  expect(await pathOf(specs, { workers: 2 })).toEqual(["b", "c"]);
});

test("goes through the task that had the resource, though others ended at the same moment", async () => {
  const has = { resources: { claude: 1 } };
  const specs = [
    task("a", { ...lasts(3), ...has }),
    task("x", lasts(3)),
    task("y", lasts(3)),
    task("b", { ...lasts(2), ...has }),
  ];
  expect(await pathOf(specs, { resources: { claude: 1 } })).toEqual(["a", "b"]);
});

test("goes through the task that had the files", async () => {
  const has = { resources: { claude: 1 } };
  const specs = [
    task("writer", { ...lasts(3), writes: ["src/"], ...has }),
    task("other", { ...lasts(3), ...has }),
    task("reader", { ...lasts(2), reads: ["src/a.ts"], ...has }),
  ];
  expect(await pathOf(specs, { resources: { claude: 9 } })).toEqual(["writer", "reader"]);
});

test("goes back over the wait for a rate to the need before it", async () => {
  const has = { resources: { tokens: 1 } };
  const specs = [task("a", { ...lasts(1), ...has }), task("b", { ...lasts(1), needs: ["a"], ...has })];
  expect(await pathOf(specs, { rates: { tokens: { amount: 1, per: seconds(60) } } })).toEqual(["a", "b"]);
});

test("comes to an end when everything happens at one moment", async () => {
  const specs = Array.from({ length: 2_000 }, (_, at) => task(`t${at}`, { estimate: millis(0) }));
  expect(await pathOf(specs, { workers: 1 })).toHaveLength(1);
});

test("has nothing where nothing was done", async () => {
  expect(await pathOf([task("a", { ...lasts(1), requires: ["wings"] })])).toEqual([]);
});

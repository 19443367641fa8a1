import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { Floor, slots } from "../../../test/rig/floor.ts";
import { always } from "../../../test/rig/property.ts";
import type { Amounts } from "../../domain/spec.ts";

const node = (name: string, workers: number, capacity: Amounts, capabilities: readonly string[] = []) => ({
  name,
  workers: slots(workers, `${name}/`),
  capacity,
  capabilities,
});
/** Which node each task went to, in the order in which they were given out. */
function placed(floor: Floor): readonly string[] {
  const given: string[] = [];
  for (let next = floor.claimNext(); next !== undefined; next = floor.claimNext()) {
    given.push(`${next.task.spec.id} ${next.worker.split("/")[0]}`);
  }
  return given;
}
const several = (...others: readonly ReturnType<typeof node>[]): Floor => new Floor({ workers: 0, others });

describe("a task goes to", () => {
  test("the node that is left with the least, so that large ones keep room for large tasks", () => {
    const floor = several(node("large", 4, { cpu: 16 }), node("small", 4, { cpu: 4 }));
    floor.submit([
      task("a", { resources: { cpu: 3 } }),
      task("b", { resources: { cpu: 1 } }),
      task("c", { resources: { cpu: 14 } }),
      task("d", { resources: { cpu: 2 } }),
    ]);
    expect(placed(floor)).toEqual(["a small", "b small", "c large", "d large"]);
  });

  test("where most of what it needs was made, before that", () => {
    const nodes = [node("large", 4, { cpu: 16 }), node("small", 4, { cpu: 4 })];
    const floor = several(...nodes);
    floor.submit([task("made", { resources: { cpu: 8 } }), task("used", { resources: { cpu: 1 }, needs: ["made"] })]);
    expect(placed(floor)).toEqual(["made large"]);
    const { run, task: made } = floor.find("made");
    floor.end(run, made);
    expect(placed(floor)).toEqual(["used large"]);
    const other = several(...nodes);
    other.submit([task("unrelated", { resources: { cpu: 1 } })]);
    expect(placed(other)).toEqual(["unrelated small"]);
  });

  test("any worker but its last one, even on another node, and to that one when no other is there", () => {
    const floor = several(node("near", 1, {}), node("far", 2, {}));
    const run = floor.submit([task("a")]);
    const lose = () => {
      const [held] = floor.held();
      if (held === undefined) throw new Error("no worker holds it");
      floor.happen(run, held.task, { kind: "expired", worker: held.worker as never, notBefore: floor.now });
    };
    expect(placed(floor)).toEqual(["a near"]);
    lose();
    expect(placed(floor)).toEqual(["a far"]);
    lose();
    const alone = new Floor({ workers: 1 });
    const only = alone.submit([task("a")]);
    expect(placed(alone)).toEqual(["a w1"]);
    alone.happen(only, only.tasks[0] as never, { kind: "expired", worker: slots(1)[0] as never, notBefore: alone.now });
    expect(placed(alone)).toEqual(["a w1"]);
  });

  test("a node that can do what it requires and has what it asks for, and to no other", () => {
    const floor = several(node("plain", 4, { cpu: 16 }), node("special", 1, { cpu: 1, gpu: 1 }, ["cuda"]));
    floor.submit([
      task("a", { requires: ["cuda"], resources: { cpu: 1 } }),
      task("b", { resources: { gpu: 1 } }),
      task("c", { resources: { cpu: 1 } }),
    ]);
    expect(placed(floor)).toEqual(["a special", "c plain"]);
    const { run, task: a } = floor.find("a");
    floor.end(run, a);
    expect(placed(floor)).toEqual(["b special"]);
  });
});

test("what fits some node is given to one on which it fits, and no node is left idle that could take something", async () => {
  const size = fc.record({ cpu: fc.nat(6), memory: fc.nat(6) });
  const nodes = fc.array(fc.record({ workers: fc.integer({ min: 1, max: 3 }), capacity: size }), {
    minLength: 2,
    maxLength: 4,
  });
  await always(
    200,
    fc.property(
      nodes,
      fc.array(size, { maxLength: 20, size: "max" }),
      fc.array(fc.nat(), { maxLength: 20 }),
      (given, asks, ends) => {
        const floor = several(...given.map(({ workers, capacity }, at) => node(`n${at}`, workers, capacity)));
        floor.submit(asks.map((resources, at) => task(`t${at}`, { resources })));
        const check = (): void => {
          placed(floor);
          for (const [at, { workers, capacity }] of given.entries()) {
            const there = floor.held().filter(({ worker }) => worker.startsWith(`n${at}/`));
            const free = (name: "cpu" | "memory"): number =>
              capacity[name] - there.reduce((sum, { task: each }) => sum + (each.spec.resources[name] ?? 0), 0);
            expect(Math.min(free("cpu"), free("memory"), workers - there.length)).toBeGreaterThanOrEqual(0);
            const couldGo = floor.runs[0]?.tasks.some(
              ({ status, spec: { resources } }) =>
                status.state === "ready" &&
                (resources.cpu ?? 0) <= free("cpu") &&
                (resources.memory ?? 0) <= free("memory"),
            );
            expect(couldGo === true && there.length < workers).toBe(false);
          }
        };
        check();
        for (const pick of ends) {
          const held = floor.held();
          const ended = held[pick % Math.max(1, held.length)];
          if (ended !== undefined) floor.end(ended.run, ended.task);
          check();
        }
      },
    ),
  );
});

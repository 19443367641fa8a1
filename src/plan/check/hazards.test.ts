import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { always } from "../../../test/rig/property.ts";
import { buildGraph } from "../../domain/graph.ts";
import { type TaskId, taskId } from "../../domain/ids.ts";
import { overlaps } from "../../domain/paths.ts";
import { SPEC_DEFAULTS, type TaskSpec } from "../../domain/spec.ts";
import { topologicalOrder } from "../order.ts";
import { findHazards } from "./hazards.ts";

type Sketch = Partial<Pick<TaskSpec, "reads" | "writes">> & { readonly needs?: readonly number[] };

const tasksOf = (sketches: readonly Sketch[]): readonly TaskSpec[] =>
  sketches.map(({ needs = [], ...touched }, no) => ({
    ...SPEC_DEFAULTS,
    id: taskId(`t${no}`),
    run: { shell: "true" },
    ...touched,
    needs: needs.map((need): TaskId => taskId(`t${need}`)),
  }));
const search = (sketches: readonly Sketch[]) => {
  const tasks = tasksOf(sketches);
  const graph = buildGraph(tasks);
  return findHazards(tasks, graph, topologicalOrder(graph));
};
const pairs = (sketches: readonly Sketch[]): readonly string[] =>
  search(sketches).hazards.map(({ a, b }) => `${a}-${b}`);

/** Every pair of tasks checked against the definition: slow, and plainly right. */
function pairsByDefinition(sketches: readonly Sketch[]): readonly string[] {
  const reaches = (from: number, to: number): boolean =>
    (sketches[from]?.needs ?? []).some((need) => need === to || reaches(need, to));
  const touch = (a: readonly string[] = [], b: readonly string[] = []) => a.some((x) => b.some((y) => overlaps(x, y)));
  const found: string[] = [];
  for (const [b, later] of sketches.entries()) {
    for (const [a, earlier] of sketches.slice(0, b).entries()) {
      const conflict =
        touch(earlier.writes, later.writes) || touch(earlier.writes, later.reads) || touch(earlier.reads, later.writes);
      if (conflict && !reaches(b, a) && !reaches(a, b)) found.push(`${a}-${b}`);
    }
  }
  return found.sort();
}

describe("unordered tasks", () => {
  test("that write the same path, or one writes what the other reads, are a hazard", () => {
    expect(pairs([{ writes: ["dist/"] }, { writes: ["dist/a"] }])).toEqual(["0-1"]);
    expect(pairs([{ reads: ["dist/"] }, { writes: ["dist/a"] }])).toEqual(["0-1"]);
    expect(pairs([{ reads: ["dist/"] }, { reads: ["dist/a"] }])).toEqual([]);
    expect(pairs([{ writes: ["src/*.ts"] }, { writes: ["src/a.js"] }])).toEqual([]);
  });

  test("are none when one waits for the other, however far away", () => {
    expect(pairs([{ writes: ["a"] }, { needs: [0] }, { needs: [1] }, { needs: [2], writes: ["a"] }])).toEqual([]);
  });

  test("are found as the definition says", async () => {
    const path = fc.constantFrom("a", "a/b", "a/b/c", "a/", "b", "./", "*", "a/*", "**/c", "c");
    const sketch = fc.record({
      reads: fc.array(path, { maxLength: 2 }),
      writes: fc.array(path, { maxLength: 2 }),
      needs: fc.array(fc.nat(8), { maxLength: 2 }),
    });
    const isExact = fc.property(fc.array(sketch, { maxLength: 9 }), (raw) => {
      const sketches = raw.map((one, no) => ({ ...one, needs: one.needs.filter((need) => need < no) }));
      expect([...pairs(sketches)].sort()).toEqual(pairsByDefinition(sketches));
    });
    await always(1_000, isExact);
  });

  test("are found in a large group whenever there are any, and only there", async () => {
    const size = 120;
    const sketch = fc.tuple(fc.boolean(), fc.boolean(), fc.nat(20));
    const isRight = fc.property(
      fc.array(sketch, { minLength: size, maxLength: size }),
      fc.boolean(),
      (raw, isChain) => {
        const sketches = raw.map(([isWriter, isBelow, back], no) => ({
          [isWriter ? "writes" : "reads"]: [isBelow ? "out/x" : "out/"],
          needs: no === 0 ? [] : [isChain ? no - 1 : Math.max(0, no - 1 - back)],
        }));
        const [found, truth] = [pairs(sketches), new Set(pairsByDefinitionOfTree(sketches))];
        expect(found.every((pair) => truth.has(pair))).toBe(true);
        expect(found.length > 0).toBe(truth.size > 0);
      },
    );
    await always(30, isRight);
  });

  test("are found when many read what is then written, and the writer does not wait for them", () => {
    const readers = Array.from({ length: 50 }, () => ({ reads: ["out"], needs: [0] }));
    expect(pairs([{ writes: ["out"] }, ...readers, { writes: ["out"], needs: [0] }])).toHaveLength(50);
  });

  test("are looked for without comparing each with each", () => {
    const size = 100_000;
    const chain = Array.from({ length: size }, (_, no) => ({ writes: ["dist/"], needs: no === 0 ? [] : [no - 1] }));
    expect(search(chain)).toEqual({ hazards: [], isPartial: false });
    const apart = Array.from({ length: size }, (_, no) => ({ writes: [`out/${no}`] }));
    const gathered = [...apart, { reads: ["out/"], needs: apart.map((_, no) => no) }];
    expect(search(gathered)).toEqual({ hazards: [], isPartial: false });
    const crowd = Array.from({ length: size }, () => ({ writes: ["dist/"] }));
    expect(search(crowd).hazards).toHaveLength(size - 1);
  }, 30_000);

  test("are given up on, and that is said, when there is too much to compare", () => {
    const globs = Array.from({ length: 4_000 }, (_, no) => ({ writes: [`*/${no}*`] }));
    expect(search(globs).isPartial).toBe(true);
  });
});

/** As `pairsByDefinition`, for tasks that each wait for at most one other: fast enough for a hundred of them. */
function pairsByDefinitionOfTree(sketches: readonly Sketch[]): readonly string[] {
  const above = sketches.map(({ needs = [] }) => needs[0]);
  const ancestors = sketches.map((_, no) => {
    const found = new Set<number>();
    for (let at = above[no]; at !== undefined; at = above[at]) found.add(at);
    return found;
  });
  return sketches.flatMap((later, b) =>
    sketches
      .slice(0, b)
      .flatMap((earlier, a) =>
        (earlier.writes !== undefined || later.writes !== undefined) && !ancestors[b]?.has(a) ? [`${a}-${b}`] : [],
      ),
  );
}

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { no, task } from "../../test/rig/builders.ts";
import { always } from "../../test/rig/property.ts";
import { buildGraph, type EdgeKind, type Graph, type TaskNo } from "./graph.ts";
import { taskId } from "./ids.ts";

type Edge = readonly [number, EdgeKind];
const listed = (each: (no: TaskNo, visit: (other: TaskNo, kind: EdgeKind) => void) => void, of: number): Edge[] => {
  const edges: Edge[] = [];
  each(no(of), (other, kind) => edges.push([other, kind]));
  return edges;
};
const needsOf = (graph: Graph, of: number): Edge[] => listed((each, visit) => graph.eachNeed(each, visit), of);
const dependentsOf = (graph: Graph, of: number): Edge[] =>
  listed((each, visit) => graph.eachDependent(each, visit), of);

describe("the graph", () => {
  const graph = buildGraph([
    task("a"),
    task("b", { needs: ["a"] }),
    task("c", { needs: ["b", "a"], after: ["a"] }),
    task("d", { after: ["b", "b"] }),
  ]);

  test("knows who waits for whom, and how, both ways", () => {
    expect(needsOf(graph, 2)).toEqual([
      [1, "needs"],
      [0, "needs"],
    ]);
    expect(needsOf(graph, 3)).toEqual([[1, "after"]]);
    expect(dependentsOf(graph, 0)).toEqual([
      [1, "needs"],
      [2, "needs"],
    ]);
    expect(dependentsOf(graph, 1)).toEqual([
      [2, "needs"],
      [3, "after"],
    ]);
    expect([0, 1, 2, 3].map((each) => graph.needCount(no(each)))).toEqual([0, 1, 2, 1]);
    expect([graph.size, graph.edges]).toEqual([4, 4]);
  });

  test("finds a task by its name, and nothing by a name it does not know", () => {
    expect(graph.find(taskId("c"))).toBe(2);
    expect(graph.find(taskId("absent"))).toBeUndefined();
    expect(graph.find(taskId("__proto__"))).toBeUndefined();
  });

  test("leaves out what is not a task", () => {
    expect(needsOf(buildGraph([task("a", { needs: ["absent"] })]), 0)).toEqual([]);
  });

  test("of nothing has nothing", () => {
    expect(buildGraph([])).toMatchObject({ size: 0, edges: 0 });
  });

  test("tells the same story from both ends", async () => {
    const plans = fc.array(fc.record({ needs: fc.array(fc.nat(20)), after: fc.array(fc.nat(20)) }), {
      maxLength: 20,
      size: "max",
    });
    const name = (at: number): string => `t${at}`;
    await always(
      300,
      fc.property(plans, (loose) => {
        const built = buildGraph(
          loose.map(({ needs, after }, at) => task(name(at), { needs: needs.map(name), after: after.map(name) })),
        );
        const forward = loose.flatMap((_, at) => needsOf(built, at).map(([need, kind]) => `${need} ${kind} ${at}`));
        const backward = loose.flatMap((_, at) => dependentsOf(built, at).map(([by, kind]) => `${at} ${kind} ${by}`));
        expect(backward.sort()).toEqual([...forward].sort());
        expect(new Set(forward).size).toBe(built.edges);
      }),
    );
  });
});

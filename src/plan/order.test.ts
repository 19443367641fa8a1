import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { always } from "../../test/rig/property.ts";
import { buildGraph, type Graph } from "../domain/graph.ts";
import { type TaskId, taskId } from "../domain/ids.ts";
import { findCircles, topologicalOrder } from "./order.ts";

const graphOf = (needs: Readonly<Record<string, readonly string[]>>): Graph =>
  buildGraph(
    Object.entries(needs).map(([id, ids]) => ({ id: taskId(id), needs: ids as readonly TaskId[], after: [] })),
  );
const circlesOf = (needs: Readonly<Record<string, readonly string[]>>): readonly string[] => {
  const names = Object.keys(needs);
  const graph = graphOf(needs);
  return findCircles(graph, topologicalOrder(graph)).map((circle) => circle.map((no) => names[no]).join(" "));
};

/** Tasks `t0`, `t1` … with edges given as pairs of numbers. */
const edges = (size: number, pairs: readonly (readonly [number, number])[]) =>
  Object.fromEntries(
    Array.from({ length: size }, (_, no) => [
      `t${no}`,
      pairs.filter(([from]) => from === no).map(([, to]) => `t${to}`),
    ]),
  );

describe("an order of the tasks", () => {
  test("puts each after what it waits for", () => {
    expect([...topologicalOrder(graphOf({ c: ["b"], b: ["a"], a: [], d: ["a", "c"] }))]).toEqual([2, 1, 0, 3]);
  });

  test("leaves out circles and what is behind them", () => {
    expect([...topologicalOrder(graphOf({ a: ["b"], b: ["a"], c: ["a"], d: [] }))]).toEqual([3]);
  });

  test("is found for a chain of two hundred thousand", () => {
    const nodes = Array.from({ length: 200_000 }, (_, no) => ({
      id: taskId(`t${no}`),
      needs: no === 0 ? [] : [taskId(`t${no - 1}`)],
      after: [],
    }));
    expect(topologicalOrder(buildGraph(nodes))).toHaveLength(200_000);
  });
});

describe("circles", () => {
  test("are none in a graph that can run, nor where a task waits for itself", () => {
    expect(circlesOf({ a: [], b: ["a"] })).toEqual([]);
    expect(circlesOf({ a: ["a"], b: ["a"] })).toEqual([]);
  });

  test("are named one per group of tasks, as the shortest way round", () => {
    expect(circlesOf({ a: ["b"], b: ["c"], c: ["a", "b"], d: ["a"], e: ["f"], f: ["e"] })).toEqual(["b c", "e f"]);
  });

  test("are found when they are a hundred thousand long", () => {
    const needs = Object.fromEntries(
      Array.from({ length: 100_000 }, (_, no) => [`t${no}`, [`t${(no + 1) % 100_000}`]]),
    );
    expect(circlesOf(needs).map((circle) => circle.split(" ").length)).toEqual([100_000]);
  });

  test("are there exactly when the order is not whole, and each step of one is an edge", async () => {
    const pair = fc.tuple(fc.nat(7), fc.nat(7));
    const holds = fc.property(fc.array(pair, { maxLength: 14 }), (pairs) => {
      const graph = graphOf(edges(8, pairs));
      const order = topologicalOrder(graph);
      const circles = findCircles(graph, order);
      expect(circles.length > 0).toBe(order.length < 8);
      for (const circle of circles) {
        expect(new Set(circle).size).toBe(circle.length);
        for (const [at, no] of circle.entries()) {
          const next = circle[(at + 1) % circle.length];
          expect(pairs.some(([from, to]) => from === no && to === next)).toBe(true);
        }
      }
    });
    await always(1_000, holds);
  });
});

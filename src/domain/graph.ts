/** Which task waits for which, in two flat arrays each way: finishing a task costs its own edges and nothing else. */
import type { TaskId } from "./ids.ts";

declare const number_: unique symbol;
/** A task's place in its run, in submit order. Dense, so that arrays can be indexed by it. */
export type TaskNo = number & { readonly [number_]: "TaskNo" };
export const taskNo = (raw: number): TaskNo => raw as TaskNo;

/** `needs` asks for success, `after` only for an end. */
export type EdgeKind = "needs" | "after";

interface Node {
  readonly id: TaskId;
  readonly needs: readonly TaskId[];
  readonly after: readonly TaskId[];
}

export interface Graph {
  readonly size: number;
  readonly edges: number;
  /** The number of the task with this id. */
  find(id: TaskId): TaskNo | undefined;
  /** Calls back for each task that waits for `no`. */
  eachDependent(no: TaskNo, visit: (dependent: TaskNo, kind: EdgeKind) => void): void;
  /** Calls back for each task that `no` waits for, in the order of the plan. */
  eachNeed(no: TaskNo, visit: (need: TaskNo, kind: EdgeKind) => void): void;
  /** How many tasks `no` waits for. */
  needCount(no: TaskNo): number;
  /** How many tasks wait for `no`. */
  dependentCount(no: TaskNo): number;
}

const AFTER_BIT = 1;

/** Builds the graph. Names that are not tasks are left out: the plan's validation speaks of them. */
export function buildGraph(nodes: readonly Node[]): Graph {
  const numbers = new Map<TaskId, TaskNo>();
  for (let no = 0; no < nodes.length; no++) numbers.set((nodes[no] as Node).id, taskNo(no));

  const size = nodes.length;
  const needStarts = new Int32Array(size + 1);
  const dependentStarts = new Int32Array(size + 1);
  const found: number[] = [];
  for (let no = 0; no < size; no++) {
    collectNeeds(nodes[no] as Node, numbers, found);
    needStarts[no + 1] = found.length;
  }
  const needs = Int32Array.from(found);
  for (const edge of needs) dependentStarts[(edge >> 1) + 1] = (dependentStarts[(edge >> 1) + 1] as number) + 1;
  for (let no = 0; no < size; no++) {
    dependentStarts[no + 1] = (dependentStarts[no + 1] as number) + (dependentStarts[no] as number);
  }
  const dependents = reverse(needStarts, needs, dependentStarts);

  const each = (starts: Int32Array, edges: Int32Array) => (no: TaskNo, visit: (n: TaskNo, kind: EdgeKind) => void) => {
    for (let at = starts[no] as number; at < (starts[no + 1] as number); at++) {
      const edge = edges[at] as number;
      visit(taskNo(edge >> 1), (edge & AFTER_BIT) === 0 ? "needs" : "after");
    }
  };
  return {
    size,
    edges: needs.length,
    find: (id) => numbers.get(id),
    eachDependent: each(dependentStarts, dependents),
    eachNeed: each(needStarts, needs),
    needCount: (no) => (needStarts[no + 1] as number) - (needStarts[no] as number),
    dependentCount: (no) => (dependentStarts[no + 1] as number) - (dependentStarts[no] as number),
  };
}

/** An edge is the number of the other task and a bit for its kind. A need named twice, or in both lists, counts once, as the stricter. */
function collectNeeds({ needs, after }: Node, numbers: ReadonlyMap<TaskId, TaskNo>, edges: number[]): void {
  const from = edges.length;
  // Looking through a few is cheaper than keeping a set; looking through many is not.
  const seen = needs.length + after.length > FEW ? new Set<TaskNo>() : undefined;
  for (const id of needs) addNeed(numbers.get(id), 0, edges, from, seen);
  for (const id of after) addNeed(numbers.get(id), AFTER_BIT, edges, from, seen);
}

const FEW = 16;

function addNeed(
  no: TaskNo | undefined,
  bit: number,
  edges: number[],
  from: number,
  seen: Set<TaskNo> | undefined,
): void {
  if (no === undefined || seen?.has(no)) return;
  if (seen !== undefined) seen.add(no);
  else for (let at = from; at < edges.length; at++) if ((edges[at] as number) >> 1 === no) return;
  edges.push((no << 1) | bit);
}

function reverse(needStarts: Int32Array, needs: Int32Array, dependentStarts: Int32Array): Int32Array {
  const dependents = new Int32Array(needs.length);
  const next = dependentStarts.slice();
  for (let no = 0; no + 1 < needStarts.length; no++) {
    for (let at = needStarts[no] as number; at < (needStarts[no + 1] as number); at++) {
      const edge = needs[at] as number;
      const need = edge >> 1;
      const slot = next[need] as number;
      dependents[slot] = (no << 1) | (edge & AFTER_BIT);
      next[need] = slot + 1;
    }
  }
  return dependents;
}

/** An order in which the tasks could run one by one, and the circles that prevent it. Loops only: a chain may be a million tasks long. */
import { type Graph, type TaskNo, taskNo } from "../domain/graph.ts";

/** The tasks, each after all tasks it waits for. Tasks on a circle, or behind one, are left out. A need of itself is ignored. */
export function topologicalOrder(graph: Graph): Int32Array {
  const waits = new Int32Array(graph.size);
  for (let no = 0; no < graph.size; no++) {
    waits[no] = graph.needCount(taskNo(no));
    graph.eachNeed(taskNo(no), (need) => {
      if (need === no) waits[no] = (waits[no] as number) - 1;
    });
  }
  const order = new Int32Array(graph.size);
  let length = 0;
  for (let no = 0; no < graph.size; no++) if (waits[no] === 0) order[length++] = no;
  const release = (dependent: TaskNo): void => {
    const left = (waits[dependent] as number) - 1;
    waits[dependent] = left;
    if (left === 0) order[length++] = dependent;
  };
  for (let at = 0; at < length; at++) {
    const no = order[at] as number;
    graph.eachDependent(taskNo(no), (dependent) => {
      if (dependent !== no) release(dependent);
    });
  }
  return order.subarray(0, length);
}

/** Groups this small are searched from every task for their shortest circle; larger ones from the first only. */
const SHORTEST_SEARCHED_MAX = 100;

/** One circle for each group of tasks that all wait for each other, as a path in which each waits for the next. */
export function findCircles(graph: Graph, order: Int32Array): readonly (readonly TaskNo[])[] {
  if (order.length === graph.size) return [];
  const needs = needsOutside(graph, order);
  const groups = groupsOf(needs);
  const groupOf = new Map<number, number>();
  for (const [at, group] of groups.entries()) for (const no of group) groupOf.set(no, at);
  return groups.map((group, at) => {
    const within = (no: number): boolean => groupOf.get(no) === at;
    return shortestCircle(group, needs, within);
  });
}

type Needs = ReadonlyMap<number, readonly number[]>;

/** What the tasks outside the order wait for, among themselves. */
function needsOutside(graph: Graph, order: Int32Array): Needs {
  const inside = new Uint8Array(graph.size);
  for (const no of order) inside[no] = 1;
  const needs = new Map<number, number[]>();
  for (let no = 0; no < graph.size; no++) {
    if (inside[no] === 1) continue;
    const own: number[] = [];
    graph.eachNeed(taskNo(no), (need) => {
      if (inside[need] === 0 && need !== no) own.push(need);
    });
    needs.set(no, own);
  }
  return needs;
}

/** Tarjan's strongly connected components of more than one task, with a stack of its own in place of recursion. In plan order. */
function groupsOf(needs: Needs): readonly (readonly number[])[] {
  const found = new Map<number, number>();
  const low = new Map<number, number>();
  const open = new Set<number>();
  const stack: number[] = [];
  const groups: number[][] = [];
  for (const root of needs.keys()) {
    if (found.has(root)) continue;
    const walk: { readonly no: number; next: number }[] = [];
    const visit = (no: number): void => {
      low.set(no, found.size);
      found.set(no, found.size);
      stack.push(no);
      open.add(no);
      walk.push({ no, next: 0 });
    };
    const lower = (no: number, to: number): void => {
      low.set(no, Math.min(low.get(no) as number, to));
    };
    visit(root);
    for (let step = walk.at(-1); step !== undefined; step = walk.at(-1)) {
      const need = needs.get(step.no)?.[step.next++];
      if (need === undefined) {
        walk.pop();
        const above = walk.at(-1);
        if (above !== undefined) lower(above.no, low.get(step.no) as number);
        if (low.get(step.no) === found.get(step.no)) {
          const group = stack.splice(stack.lastIndexOf(step.no));
          for (const no of group) open.delete(no);
          if (group.length > 1) groups.push(group.sort((a, b) => a - b));
        }
      } else if (!found.has(need)) visit(need);
      else if (open.has(need)) lower(step.no, found.get(need) as number);
    }
  }
  return groups.sort((a, b) => (a[0] as number) - (b[0] as number));
}

function shortestCircle(group: readonly number[], needs: Needs, within: (no: number) => boolean): readonly TaskNo[] {
  let best = circleThrough(group[0] as number, needs, within);
  if (group.length > SHORTEST_SEARCHED_MAX) return best;
  for (const start of group) {
    const circle = circleThrough(start, needs, within);
    if (circle.length < best.length) best = circle;
  }
  return best;
}

/** Breadth first from a task until a task waits for it again: the shortest circle. */
function circleThrough(start: number, needs: Needs, within: (no: number) => boolean): readonly TaskNo[] {
  const from = new Map<number, number>();
  const queue = [start];
  for (const no of queue) {
    for (const need of needs.get(no) ?? []) {
      if (need === start) return pathTo(no, start, from);
      if (from.has(need) || !within(need)) continue;
      from.set(need, no);
      queue.push(need);
    }
  }
  return [taskNo(start)];
}

function pathTo(end: number, start: number, from: ReadonlyMap<number, number>): readonly TaskNo[] {
  const path = [taskNo(end)];
  for (let no = end; no !== start; ) {
    no = from.get(no) as number;
    path.push(taskNo(no));
  }
  return path.reverse();
}

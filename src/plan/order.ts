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
  const groupOf = new Int32Array(graph.size).fill(-1);
  for (const [at, group] of groups.entries()) for (const no of group) groupOf[no] = at;
  return groups.map((group, at) => {
    const within = (no: number): boolean => groupOf[no] === at;
    return shortestCircle(group, needs, within);
  });
}

/** What each task waits for: by number, and nothing for tasks inside the order. */
type Needs = readonly (readonly number[] | undefined)[];

/** What the tasks outside the order wait for, among themselves. */
function needsOutside(graph: Graph, order: Int32Array): Needs {
  const inside = new Uint8Array(graph.size);
  for (const no of order) inside[no] = 1;
  const needs: (number[] | undefined)[] = [];
  for (let no = 0; no < graph.size; no++) {
    const own: number[] = [];
    needs.push(inside[no] === 1 ? undefined : own);
    if (inside[no] === 1) continue;
    graph.eachNeed(taskNo(no), (need) => {
      if (inside[need] === 0 && need !== no) own.push(need);
    });
  }
  return needs;
}

/** Tarjan's strongly connected components of more than one task, with a stack of its own in place of recursion. In plan order. */
function groupsOf(needs: Needs): readonly (readonly number[])[] {
  // From 1 on, in the order in which they are found.
  const found = new Int32Array(needs.length);
  const low = new Int32Array(needs.length);
  const open = new Uint8Array(needs.length);
  const next = new Int32Array(needs.length);
  const stack: number[] = [];
  const walk: number[] = [];
  const groups: number[][] = [];
  let count = 0;
  const visit = (no: number): void => {
    found[no] = low[no] = ++count;
    open[no] = 1;
    stack.push(no);
    walk.push(no);
  };
  const lower = (no: number, to: number): void => {
    low[no] = Math.min(low[no] as number, to);
  };
  const leave = (no: number): void => {
    walk.pop();
    const above = walk.at(-1);
    if (above !== undefined) lower(above, low[no] as number);
    if (low[no] !== found[no]) return;
    const group = stack.splice(stack.lastIndexOf(no));
    for (const each of group) open[each] = 0;
    if (group.length > 1) groups.push(group.sort((a, b) => a - b));
  };
  for (const [root, own] of needs.entries()) {
    if (own === undefined || found[root] !== 0) continue;
    visit(root);
    for (let no = walk.at(-1); no !== undefined; no = walk.at(-1)) {
      const need = needs[no]?.[next[no] as number];
      next[no] = (next[no] as number) + 1;
      if (need === undefined) leave(no);
      else if (found[need] === 0) visit(need);
      else if (open[need] === 1) lower(no, found[need] as number);
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
    for (const need of needs[no] ?? []) {
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

/** Unordered tasks that touch the same files. Searched with a bound on the work, and said so when the bound is met. */
import { type Graph, type TaskNo, taskNo } from "../../domain/graph.ts";
import type { TaskSpec } from "../../domain/spec.ts";
import { type Conflict, findConflicts } from "./conflicts.ts";

export interface Hazard {
  readonly a: TaskNo;
  readonly b: TaskNo;
  readonly aPath: string;
  readonly bPath: string;
}

export interface Hazards {
  readonly hazards: readonly Hazard[];
  /** Whether some tasks were not compared because there were too many. */
  readonly isPartial: boolean;
}

/** Edges followed in all searches together: about a second of work. */
const STEPS_MAX = 20_000_000;

/** Takes a graph without circles and an order of it. Hazards come in plan order. */
export function findHazards(tasks: readonly TaskSpec[], graph: Graph, order: Int32Array): Hazards {
  const position = new Int32Array(graph.size);
  for (let at = 0; at < order.length; at++) position[order[at] as number] = at;
  const { pairs, isPartial } = findConflicts(tasks, position);
  if (pairs.length === 0) return { hazards: [], isPartial };
  const search = new Search(graph, position);
  const hazards: Hazard[] = [];
  for (const [start, conflicts] of byStart(pairs)) {
    for (const conflict of search.unordered(start, conflicts)) hazards.push(hazardOf(conflict));
  }
  hazards.sort((x, y) => x.a - y.a || x.b - y.b);
  return { hazards, isPartial: isPartial || search.isSpent };
}

const hazardOf = ({ first, second, firstPath, secondPath }: Conflict): Hazard =>
  first < second
    ? { a: taskNo(first), b: taskNo(second), aPath: firstPath, bPath: secondPath }
    : { a: taskNo(second), b: taskNo(first), aPath: secondPath, bPath: firstPath };

/** One search answers for all pairs that share its start, so each pair goes to the end that has more of them. */
function byStart(pairs: readonly Conflict[]): ReadonlyMap<number, readonly Conflict[]> {
  const counts = new Map<number, number>();
  for (const { first, second } of pairs) {
    counts.set(first, (counts.get(first) ?? 0) + 1);
    counts.set(second, (counts.get(second) ?? 0) + 1);
  }
  const groups = new Map<number, Conflict[]>();
  for (const pair of pairs) {
    const start = (counts.get(pair.first) ?? 0) > (counts.get(pair.second) ?? 0) ? pair.first : pair.second;
    const group = groups.get(start);
    if (group === undefined) groups.set(start, [pair]);
    else group.push(pair);
  }
  return groups;
}

/** Follows edges from a task, no further in the order than the tasks it is asked about. */
class Search {
  readonly #graph: Graph;
  readonly #position: Int32Array;
  /** The number of the search that last saw a task: clearing it would cost more than most searches. */
  readonly #seen: Int32Array;
  #searches = 0;
  #steps = 0;

  constructor(graph: Graph, position: Int32Array) {
    this.#graph = graph;
    this.#position = position;
    this.#seen = new Int32Array(graph.size);
  }

  get isSpent(): boolean {
    return this.#steps >= STEPS_MAX;
  }

  /** The conflicts, all with `start` at one end, whose other task can neither be reached from it nor reach it. */
  unordered(start: number, conflicts: readonly Conflict[]): readonly Conflict[] {
    const later = conflicts.filter((conflict) => conflict.first === start);
    const earlier = conflicts.filter((conflict) => conflict.second === start);
    return [...this.#notAfter(start, later), ...this.#notBefore(start, earlier)];
  }

  #notAfter(start: number, later: readonly Conflict[]): readonly Conflict[] {
    if (later.length === 0) return [];
    const last = later.reduce((most, { second }) => Math.max(most, this.#place(second)), 0);
    this.#walk(
      start,
      (no, visit) => this.#graph.eachDependent(no, visit),
      (place) => place <= last,
    );
    return this.isSpent ? [] : later.filter(({ second }) => this.#seen[second] !== this.#searches);
  }

  #notBefore(start: number, earlier: readonly Conflict[]): readonly Conflict[] {
    if (earlier.length === 0) return [];
    const least = earlier.reduce((least, { first }) => Math.min(least, this.#place(first)), this.#graph.size);
    this.#walk(
      start,
      (no, visit) => this.#graph.eachNeed(no, visit),
      (place) => place >= least,
    );
    return this.isSpent ? [] : earlier.filter(({ first }) => this.#seen[first] !== this.#searches);
  }

  #walk(
    start: number,
    each: (no: TaskNo, visit: (next: TaskNo) => void) => void,
    isNear: (place: number) => boolean,
  ): void {
    const search = ++this.#searches;
    const queue = [start];
    const visit = (next: TaskNo): void => {
      this.#steps++;
      if (this.#seen[next] === search || !isNear(this.#place(next))) return;
      this.#seen[next] = search;
      queue.push(next);
    };
    for (let no = queue.pop(); no !== undefined && !this.isSpent; no = queue.pop()) each(taskNo(no), visit);
  }
  #place(no: number): number {
    return this.#position[no] as number;
  }
}

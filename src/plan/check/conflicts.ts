/**
 * Pairs of tasks that touch the same files, one of them writing. Whether the pair is ordered is decided in `hazards.ts`.
 *
 * A hundred thousand tasks have five thousand million pairs, so pairs are never listed one by one: tasks are grouped by
 * path, paths by the directories they lie in, and of a large group only neighbours are compared. If each of those is
 * ordered, so are all the others.
 */
import { compilePath, type PathPattern, patternsOverlap } from "../../domain/paths.ts";
import type { TaskSpec } from "../../domain/spec.ts";

/** Two tasks in the order in which they could run, and the paths of theirs that meet. */
export interface Conflict {
  readonly first: number;
  readonly second: number;
  readonly firstPath: string;
  readonly secondPath: string;
}

export interface Conflicts {
  readonly pairs: readonly Conflict[];
  /** Whether there was more to compare than is compared. */
  readonly isPartial: boolean;
}

const PAIRS_MAX = 500_000;
/** Paths compared and tasks sorted. */
const STEPS_MAX = 1_000_000;
/** Up to this many pairs of tasks are listed; a larger group is taken by its neighbours. */
const PRODUCT_MAX = 1_024;

interface Toucher {
  readonly no: number;
  readonly writes: boolean;
}
interface Group {
  readonly path: string;
  readonly pattern: PathPattern;
  readonly touchers: Toucher[];
  hasWriter: boolean;
}
class Directory {
  readonly groups: Group[] = [];
  readonly children = new Map<string, Directory>();

  below(segment: string): Directory {
    const found = this.children.get(segment);
    if (found !== undefined) return found;
    const made = new Directory();
    this.children.set(segment, made);
    return made;
  }
}

/** `position` is each task's place in an order in which they could run. */
export function findConflicts(tasks: readonly TaskSpec[], position: Int32Array): Conflicts {
  const found = new Pairs(tasks.length, position);
  const root = new Directory();
  for (const group of groupByPath(tasks).values()) {
    if (group.hasWriter) found.addGroup(group.touchers, group.path);
    let directory = root;
    for (const segment of group.pattern.segments.slice(0, group.pattern.literals)) {
      compare(group, directory.groups, found);
      directory = directory.below(segment);
    }
    compare(group, directory.groups, found);
    compareBelow(group, directory, found);
    directory.groups.push(group);
    if (found.isFull) break;
  }
  return { pairs: [...found.pairs.values()], isPartial: found.isFull };
}

function groupByPath(tasks: readonly TaskSpec[]): Map<string, Group> {
  const groups = new Map<string, Group>();
  const touch = (path: string, no: number, writes: boolean): void => {
    let group = groups.get(path);
    if (group === undefined) {
      group = { path, pattern: compilePath(path), touchers: [], hasWriter: false };
      groups.set(path, group);
    }
    // A path that one task both reads and writes counts as written.
    if (group.touchers.at(-1)?.no === no) return;
    group.touchers.push({ no, writes });
    if (writes) group.hasWriter = true;
  };
  for (let no = 0; no < tasks.length; no++) {
    const { reads, writes } = tasks[no] as TaskSpec;
    for (const path of writes) touch(path, no, true);
    for (const path of reads) touch(path, no, false);
  }
  return groups;
}

function compare(group: Group, others: readonly Group[], found: Pairs): void {
  for (const other of others) {
    if (found.isFull) return;
    if (group.hasWriter || other.hasWriter) found.addGroups(group, other);
  }
}

/** The groups in deeper directories that came earlier. The walk keeps its own stack: paths may be of any depth. */
function compareBelow(group: Group, directory: Directory, found: Pairs): void {
  const walk = [directory];
  for (let at = walk.pop(); at !== undefined && !found.isFull; at = walk.pop()) {
    for (const below of at.children.values()) {
      found.count(1);
      compare(group, below.groups, found);
      walk.push(below);
    }
  }
}

class Pairs {
  readonly pairs = new Map<number, Conflict>();
  readonly #size: number;
  readonly #position: Int32Array;
  #steps = 0;

  constructor(size: number, position: Int32Array) {
    this.#size = size;
    this.#position = position;
  }

  get isFull(): boolean {
    return this.pairs.size >= PAIRS_MAX || this.#steps >= STEPS_MAX;
  }

  /** Counts work done, which is bounded too. */
  count(steps: number): void {
    this.#steps += steps;
  }

  addGroup(touchers: readonly Toucher[], path: string): void {
    if (touchers.length ** 2 > PRODUCT_MAX) {
      this.#addNeighbours(touchers, () => path);
      return;
    }
    for (const [at, a] of touchers.entries()) {
      for (const b of touchers.slice(at + 1)) this.#add(a, b, path, path);
    }
  }

  addGroups(left: Group, right: Group): void {
    // Long paths take longer to compare.
    this.count(1 + ((left.path.length + right.path.length) >> 7));
    if (!patternsOverlap(left.pattern, right.pattern)) return;
    if (left.touchers.length * right.touchers.length > PRODUCT_MAX) {
      const both = [...left.touchers, ...right.touchers];
      const lefts = new Set(left.touchers);
      this.#addNeighbours(both, (toucher) => (lefts.has(toucher) ? left.path : right.path));
      return;
    }
    for (const a of left.touchers) for (const b of right.touchers) this.#add(a, b, left.path, right.path);
  }

  /** Each writer with the one before it, each reader with the writers around it. */
  #addNeighbours(touchers: readonly Toucher[], pathOf: (toucher: Toucher) => string): void {
    this.count(touchers.length);
    const inOrder = touchers.toSorted((a, b) => this.#place(a.no) - this.#place(b.no));
    let writer: Toucher | undefined;
    let readers: Toucher[] = [];
    for (const toucher of inOrder) {
      if (writer !== undefined) this.#add(writer, toucher, pathOf(writer), pathOf(toucher));
      if (!toucher.writes) {
        readers.push(toucher);
        continue;
      }
      for (const reader of readers) this.#add(reader, toucher, pathOf(reader), pathOf(toucher));
      readers = [];
      writer = toucher;
    }
  }

  #add(a: Toucher, b: Toucher, aPath: string, bPath: string): void {
    if (a.no === b.no || !(a.writes || b.writes) || this.isFull) return;
    const inOrder = this.#place(a.no) < this.#place(b.no);
    const [first, second] = inOrder ? [a.no, b.no] : [b.no, a.no];
    const key = first * this.#size + second;
    if (this.pairs.has(key)) return;
    const [firstPath, secondPath] = inOrder ? [aPath, bPath] : [bPath, aPath];
    this.pairs.set(key, { first, second, firstPath, secondPath });
  }

  #place(no: number): number {
    return this.#position[no] as number;
  }
}

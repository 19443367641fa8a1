/** The ready tasks of one run, so ordered that the best task that fits is found without looking at the others. */
import type { TaskNo } from "../../domain/graph.ts";
import type { Run } from "../../domain/run.ts";
import { PRIORITIES, type Priority } from "../../domain/spec.ts";
import type { Ready, Task } from "../../domain/task.ts";
import type { Instant, Millis } from "../../domain/time.ts";
import { Heap } from "../../std/heap.ts";
import type { Shape } from "../room/shapes.ts";

/** A moment, by the clock and by the number of tasks given out. */
export interface Mark {
  readonly at: Instant;
  readonly given: number;
}

/** How long the task was on hold during its wait, and since when it is on hold again. */
export interface HoldTime {
  readonly for: Millis;
  readonly since: Instant | undefined;
}

/** A ready task in the queue. */
export interface Candidate {
  readonly run: Run;
  readonly task: Task;
  /** The task's number: many candidates are compared by it. */
  readonly no: TaskNo;
  readonly status: Ready;
  readonly shape: Shape;
  readonly lane: Priority;
  rank: number;
  place: number;
  /** When it entered its lane, after its back-off. */
  entered: Mark;
  /** When it was first passed over: it was its turn, and it did not fit. */
  passedSince: Mark | undefined;
  /** Absent for a task that never was on hold. */
  hold: HoldTime | undefined;
  /** It waits for its turn, is withheld, or has left. Kept here because it is read for every task, again and again. */
  standing: "waits" | "aside" | "gone";
}

/** The task that may go, and the task that would have gone before it and does not fit. */
export interface Choice {
  readonly best: Candidate | undefined;
  readonly passed: Candidate | undefined;
}

/** Longest way to go first, then the order of the plan. */
const goesFirst = (a: Candidate, b: Candidate): boolean => (a.rank !== b.rank ? a.rank > b.rank : a.no < b.no);

/** The size of three levels of a heap. */
const NEAR_TOP = 7;

/** The tasks of one shape. The shape stands here too, so that iterating makes no pairs: this is done for every task that is given out. */
interface Alike {
  readonly shape: Shape;
  readonly heap: Heap<Candidate>;
}

export class RunQueue {
  readonly #lanes: Readonly<Record<Priority, Map<Shape, Alike>>> = {
    critical: new Map(),
    high: new Map(),
    normal: new Map(),
    low: new Map(),
  };
  size = 0;

  add(candidate: Candidate): void {
    const { lane, shape } = candidate;
    const shapes = this.#lanes[lane];
    let alike = shapes.get(shape);
    if (alike === undefined) {
      alike = { shape, heap: new Heap(goesFirst) };
      shapes.set(shape, alike);
    }
    alike.heap.push(candidate);
    this.size++;
  }

  remove(candidate: Candidate): void {
    if (candidate.place < 0) return;
    const shapes = this.#lanes[candidate.lane];
    const { heap } = shapes.get(candidate.shape) as Alike;
    heap.remove(candidate);
    if (heap.size === 0) shapes.delete(candidate.shape);
    this.size--;
  }

  /**
   * The first task of the lane that fits, and the first task of all if that is another one: it is passed over. Tasks of one shape ask for
   * the same things, so if the first of them does not fit, the others are not asked. `passes` is asked of each task. Shapes that are not
   * `seen` are treated as absent.
   */
  best(
    lane: Priority,
    now: Instant,
    fits: (first: Candidate, now: Instant) => boolean,
    passes?: (candidate: Candidate) => boolean,
    seen?: (shape: Shape) => boolean,
  ): Choice {
    let best: Candidate | undefined;
    let passed: Candidate | undefined;
    for (const { shape, heap } of this.#lanes[lane].values()) {
      if (seen !== undefined && !seen(shape)) continue;
      const first = heap.peek() as Candidate;
      if (best !== undefined && !goesFirst(first, best)) continue;
      if (fits(first, now)) {
        const found = passes === undefined || passes(first) ? first : firstOf(heap.values(), passes);
        if (found !== undefined && (best === undefined || goesFirst(found, best))) best = found;
      } else if (passed === undefined || goesFirst(first, passed)) passed = first;
    }
    const isFirst = passed !== undefined && (best === undefined || goesFirst(passed, best));
    return { best, passed: isFirst ? passed : undefined };
  }

  /** The task that would go first if all tasks fitted: the first of the most urgent lane. */
  get first(): Candidate | undefined {
    let first: Candidate | undefined;
    for (const lane of PRIORITIES) {
      for (const { heap } of this.#lanes[lane].values()) {
        const next = heap.peek() as Candidate;
        if (first === undefined || goesFirst(next, first)) first = next;
      }
      if (first !== undefined) return first;
    }
    return undefined;
  }

  /** As `first`, without the tasks that `isOut` names. Looks only near the top of each heap: a guess is enough for the caller. */
  firstBut(isOut: (task: Task) => boolean): Candidate | undefined {
    for (const lane of PRIORITIES) {
      let first: Candidate | undefined;
      for (const { heap } of this.#lanes[lane].values()) {
        const items = heap.values();
        for (let at = 0; at < Math.min(items.length, NEAR_TOP); at++) {
          const next = items[at] as Candidate;
          if ((first === undefined || goesFirst(next, first)) && !isOut(next.task)) first = next;
        }
      }
      if (first !== undefined) return first;
    }
    return undefined;
  }

  /** Whether a task of a seen shape waits. Looks at shapes only, of which there are few. */
  has(seen: (shape: Shape) => boolean): boolean {
    for (const lane of PRIORITIES) for (const shape of this.#lanes[lane].keys()) if (seen(shape)) return true;
    return false;
  }

  isEmpty(lane: Priority): boolean {
    return this.#lanes[lane].size === 0;
  }

  /** Orders everything anew. */
  rerank(rankOf: (task: Task) => number): void {
    const all = [...this.values()];
    for (const candidate of all) this.remove(candidate);
    for (const candidate of all) {
      candidate.rank = rankOf(candidate.task);
      this.add(candidate);
    }
  }

  /** Every waiting candidate, in no particular order. */
  *values(): Iterable<Candidate> {
    for (const lane of PRIORITIES) for (const { heap } of this.#lanes[lane].values()) yield* heap.values();
  }
}

function firstOf(all: readonly Candidate[], may: (candidate: Candidate) => boolean): Candidate | undefined {
  let first: Candidate | undefined;
  for (const each of all) if ((first === undefined || goesFirst(each, first)) && may(each)) first = each;
  return first;
}

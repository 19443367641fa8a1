/** The ready tasks of one run, so ordered that the best one that fits is found without looking at the others. */
import type { Run } from "../domain/run.ts";
import { PRIORITIES, type Priority } from "../domain/spec.ts";
import type { Ready, Task } from "../domain/task.ts";
import { Heap } from "../std/heap.ts";
import { type Draw, fits } from "./room.ts";

/** A ready task in the queue. */
export interface Candidate {
  readonly run: Run;
  readonly task: Task;
  readonly status: Ready;
  readonly shape: Shape;
  readonly rank: number;
  place: number;
}

/** Tasks of one shape ask for the same things, so if the first of them does not fit, none does. */
export interface Shape {
  readonly key: string;
  readonly draws: readonly Draw[];
  readonly requires: readonly string[];
}

/** Longest way to go first, then the order of the plan. */
const goesFirst = (a: Candidate, b: Candidate): boolean =>
  a.rank !== b.rank ? a.rank > b.rank : a.task.no < b.task.no;

export class RunQueue {
  readonly #lanes: Record<Priority, Map<Shape, Heap<Candidate>>>;
  size = 0;

  constructor() {
    this.#lanes = Object.fromEntries(PRIORITIES.map((lane) => [lane, new Map()])) as never;
  }

  add(candidate: Candidate): void {
    const shapes = this.#lanes[candidate.task.spec.priority];
    let heap = shapes.get(candidate.shape);
    if (heap === undefined) {
      heap = new Heap(goesFirst);
      shapes.set(candidate.shape, heap);
    }
    heap.push(candidate);
    this.size++;
  }

  remove(candidate: Candidate): void {
    if (candidate.place < 0) return;
    const shapes = this.#lanes[candidate.task.spec.priority];
    const heap = shapes.get(candidate.shape) as Heap<Candidate>;
    heap.remove(candidate);
    if (heap.size === 0) shapes.delete(candidate.shape);
    this.size--;
  }

  /** The first of the lane among those whose shape fits. */
  best(lane: Priority): Candidate | undefined {
    let best: Candidate | undefined;
    for (const [shape, heap] of this.#lanes[lane]) {
      const first = heap.peek() as Candidate;
      if ((best === undefined || goesFirst(first, best)) && fits(shape.draws)) best = first;
    }
    return best;
  }

  /** Every waiting candidate, in no particular order. */
  *values(): Iterable<Candidate> {
    for (const lane of PRIORITIES) for (const heap of this.#lanes[lane].values()) yield* heap.values();
  }
}

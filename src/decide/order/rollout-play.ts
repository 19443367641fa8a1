/** Plays the rest of a run through in one order: whenever a task has ended, every task that fits begins, in that order. */
import type { Demands } from "./demands.ts";

/** What is played through: flat arrays by task, so that a play costs microseconds. */
export interface Schedule extends Demands {
  readonly size: number;
  /** How many of the tasks are running: they are the first ones, and hold what they ask for. */
  readonly running: number;
  /** How long each is believed to take from now on, in milliseconds. */
  readonly costs: Float64Array;
  /** The longest path from the beginning of each task to the end. */
  readonly tails: Float64Array;
  /** How many other tasks each still waits for. */
  readonly unmet: Int32Array;
  /** Which tasks wait for a task: `dependents` from `starts[task]` up to `starts[task + 1]`. */
  readonly starts: Int32Array;
  readonly dependents: Int32Array;
}

export interface Order {
  /** The tasks of the course, the first to go first. */
  readonly tasks: Int32Array;
  /** Where in `tasks` each stands. */
  readonly places: Int32Array;
}

/** The higher rank first; among equals the task that comes first in the course. */
export function orderBy(ranks: Float64Array): Order {
  const tasks = new Int32Array(ranks.length);
  for (let task = 0; task < tasks.length; task++) tasks[task] = task;
  tasks.sort((a, b) => (ranks[b] as number) - (ranks[a] as number) || a - b);
  const places = new Int32Array(tasks.length);
  for (let at = 0; at < tasks.length; at++) places[tasks[at] as number] = at;
  return { tasks, places };
}

/** Plays of one course, one after the other, in the same arrays. */
export class Player {
  readonly #schedule: Schedule;
  readonly #unmet: Int32Array;
  readonly #free: Float64Array;
  /** Places of the tasks that could begin, in order. */
  readonly #ready: Int32Array;
  #waiting = 0;
  readonly #out: Ends;
  /** The least that any task asks for of each kind: with less than that free, nothing fits. */
  readonly #least: Float64Array;
  /** When each task ended in the last play, if that play was not given up. */
  readonly ends: Float64Array;

  constructor(schedule: Schedule) {
    const { size, kinds } = schedule;
    this.#schedule = schedule;
    this.#unmet = new Int32Array(size);
    this.#free = new Float64Array(kinds);
    this.#ready = new Int32Array(size);
    this.#out = new Ends(size);
    this.#least = leastAsked(schedule);
    this.ends = new Float64Array(size);
  }

  /** How long everything takes in this order. Infinity as soon as it is clear that it is not less than `bound`. */
  play(order: Order, bound: number): number {
    this.#begin(order);
    for (let now = 0; ; ) {
      if (!this.#dispatch(order, now, bound)) return Number.POSITIVE_INFINITY;
      if (this.#out.size === 0) return now;
      now = this.#out.next();
      if (now >= bound) return Number.POSITIVE_INFINITY;
      // All tasks that end at one moment end before another one begins.
      do this.#end(order, this.#out.pop());
      while (this.#out.size > 0 && this.#out.next() === now);
    }
  }

  #begin({ tasks }: Order): void {
    const { size, running, costs, unmet, free } = this.#schedule;
    this.#unmet.set(unmet);
    this.#free.set(free);
    this.#out.clear();
    this.#waiting = 0;
    for (let task = 0; task < running; task++) this.#start(task, costs[task] as number);
    for (let at = 0; at < size; at++) {
      const task = tasks[at] as number;
      if (task >= running && unmet[task] === 0) this.#ready[this.#waiting++] = at;
    }
  }

  /** Begins the tasks that fit. False when a task begins so late that the bound cannot be kept. */
  #dispatch({ tasks }: Order, now: number, bound: number): boolean {
    const { kinds, asks, costs, tails } = this.#schedule;
    const ready = this.#ready;
    const free = this.#free;
    const waiting = this.#waiting;
    let kept = 0;
    let at = 0;
    // Most of a play is spent here: when something that every task asks for has run out, the rest need not be looked at.
    for (let hasRoom = this.#hasRoom(); hasRoom && at < waiting; at++) {
      const place = ready[at] as number;
      const task = tasks[place] as number;
      const asked = task * kinds;
      let kind = 0;
      while (kind < kinds && (asks[asked + kind] as number) <= (free[kind] as number)) kind++;
      if (kind < kinds) {
        ready[kept++] = place;
        continue;
      }
      if (now + (tails[task] as number) >= bound) return false;
      this.#take(task, -1);
      this.#start(task, now + (costs[task] as number));
      hasRoom = this.#hasRoom();
    }
    if (kept < at) ready.copyWithin(kept, at, waiting);
    this.#waiting = kept + waiting - at;
    return true;
  }

  #start(task: number, end: number): void {
    this.ends[task] = end;
    this.#out.push(task, end);
  }

  #end({ places }: Order, task: number): void {
    const { starts, dependents } = this.#schedule;
    this.#take(task, 1);
    for (let at = starts[task] as number; at < (starts[task + 1] as number); at++) {
      const dependent = dependents[at] as number;
      this.#unmet[dependent] = (this.#unmet[dependent] as number) - 1;
      if (this.#unmet[dependent] === 0) this.#line(places[dependent] as number);
    }
  }

  #line(place: number): void {
    const ready = this.#ready;
    let at = this.#waiting++;
    for (; at > 0 && (ready[at - 1] as number) > place; at--) ready[at] = ready[at - 1] as number;
    ready[at] = place;
  }

  #hasRoom(): boolean {
    for (let kind = 0; kind < this.#least.length; kind++) {
      if ((this.#free[kind] as number) < (this.#least[kind] as number)) return false;
    }
    return true;
  }

  #take(task: number, sign: 1 | -1): void {
    const { kinds, asks } = this.#schedule;
    for (let kind = 0, at = task * kinds; kind < kinds; kind++, at++) {
      this.#free[kind] = (this.#free[kind] as number) + sign * (asks[at] as number);
    }
  }
}

function leastAsked({ size, kinds, asks }: Schedule): Float64Array {
  const least = new Float64Array(kinds).fill(Number.POSITIVE_INFINITY);
  for (let at = 0; at < size * kinds; at++) {
    least[at % kinds] = Math.min(least[at % kinds] as number, asks[at] as number);
  }
  return least;
}

/** The running tasks, the soonest end first: a heap of numbers, since a heap of objects would be most of a play's cost. */
class Ends {
  readonly #tasks: Int32Array;
  readonly #ends: Float64Array;
  size = 0;

  constructor(capacity: number) {
    this.#tasks = new Int32Array(capacity);
    this.#ends = new Float64Array(capacity);
  }

  clear(): void {
    this.size = 0;
  }

  next(): number {
    return this.#ends[0] as number;
  }

  push(task: number, end: number): void {
    let hole = this.size++;
    while (hole > 0) {
      const above = (hole - 1) >> 1;
      if ((this.#ends[above] as number) <= end) break;
      this.#move(above, hole);
      hole = above;
    }
    this.#tasks[hole] = task;
    this.#ends[hole] = end;
  }

  pop(): number {
    const first = this.#tasks[0] as number;
    const last = --this.size;
    const end = this.#ends[last] as number;
    let hole = 0;
    for (let below = 1; below < last; below = 2 * hole + 1) {
      if (below + 1 < last && (this.#ends[below + 1] as number) < (this.#ends[below] as number)) below++;
      if ((this.#ends[below] as number) >= end) break;
      this.#move(below, hole);
      hole = below;
    }
    this.#tasks[hole] = this.#tasks[last] as number;
    this.#ends[hole] = end;
    return first;
  }

  #move(from: number, to: number): void {
    this.#tasks[to] = this.#tasks[from] as number;
    this.#ends[to] = this.#ends[from] as number;
  }
}

/** Those who have waited longer than they should move up one lane, one at a time, and begin to wait anew. */
import type { RunNo } from "../domain/run.ts";
import { PRIORITIES, type Priority } from "../domain/spec.ts";
import { type Instant, type Millis, seconds } from "../domain/time.ts";
import { Heap, type Placed } from "../std/heap.ts";
import type { Candidate, Mark } from "./queue.ts";

/** How long is too long: both must have passed, so that neither a busy second nor a quiet night counts as a wait. */
export interface Patience {
  /** Tasks that went before it. */
  readonly dispatches: number;
  readonly wait: Millis;
}
export const PATIENCE: Patience = { dispatches: 100, wait: seconds(60) };

export const isOverdue = (since: Mark, now: Mark, patience: Patience): boolean =>
  now.given - since.given >= patience.dispatches && now.at - since.at >= patience.wait;

/** How many tasks have been given out, by lane. */
export class Tally {
  readonly #given: Record<Priority, number> = { critical: 0, high: 0, normal: 0, low: 0 };

  add(lane: Priority): void {
    this.#given[lane]++;
  }

  /** In all. */
  all(at: Instant): Mark {
    return { at, given: PRIORITIES.reduce((sum, lane) => sum + this.#given[lane], 0) };
  }

  /** To those who go before this lane. Where nobody does, moving up would help nobody. */
  above(lane: Priority, at: Instant): Mark {
    let given = 0;
    for (const each of PRIORITIES) {
      if (each === lane) break;
      given += this.#given[each];
    }
    return { at, given };
  }
}

interface Line extends Placed {
  readonly run: RunNo;
  readonly lane: Priority;
  /** In the order of coming. Who has left stays in it until reached. */
  items: Candidate[];
  head: number;
  /** How many there may be before those who have left are forgotten. */
  most: number;
  /** When the last one moved up. */
  moved: Mark | undefined;
  /** Where it is kept, while there may be somebody in it. */
  shelf: Heap<Line> | undefined;
  /** The moment, or the count, before which it need not be looked at. */
  due: number;
}

const byDue = (a: Line, b: Line): boolean => a.due < b.due;

/**
 * The waiting lines of each run. One moves up at a time, and the next not before as long a wait: where there is more to do than can
 * be done everybody waits for long, and if all moved up then, priorities and shares would mean nothing. So aging keeps any lane of any
 * run from standing still, and no more than that. A line is looked at when it may be due: there may be thousands of them.
 */
export class WaitingLines {
  readonly #patience: Patience;
  readonly #waits: (candidate: Candidate) => boolean;
  readonly #lines = new Map<RunNo, ReadonlyMap<Priority, Line>>();
  /** Those whose first has not waited for long enough, by when it will have. */
  readonly #early = new Heap<Line>(byDue);
  /** Those whose first has, by how many must have gone before it. */
  readonly #late: ReadonlyMap<Priority, Heap<Line>> = new Map(AGING.map((lane) => [lane, new Heap<Line>(byDue)]));

  /** `waits`: whether somebody still does. */
  constructor(patience: Patience, waits: (candidate: Candidate) => boolean) {
    this.#patience = patience;
    this.#waits = waits;
  }

  join(run: RunNo): void {
    const lineOf = (lane: Priority): Line => ({
      run,
      lane,
      items: [],
      head: 0,
      most: KEPT_MIN,
      moved: undefined,
      shelf: undefined,
      due: 0,
      place: -1,
    });
    this.#lines.set(run, new Map(AGING.map((lane) => [lane, lineOf(lane)])));
  }

  leave(run: RunNo): void {
    for (const line of this.#lines.get(run)?.values() ?? []) line.shelf?.remove(line);
    this.#lines.delete(run);
  }

  add(candidate: Candidate): void {
    const line = this.#lines.get(candidate.run.no)?.get(candidate.lane);
    if (line === undefined) return;
    line.items.push(candidate);
    if (line.items.length > line.most) this.#tidy(line);
    if (line.shelf === undefined) this.#put(line, this.#early, candidate.entered.at + this.#patience.wait);
  }

  /** The first of each line that has waited too long. Each is told once. */
  overdue(markOf: (lane: Priority) => Mark, at: Instant): Candidate[] {
    const found: Candidate[] = [];
    for (const line of dueBy(this.#early, at)) this.#file(line, at);
    for (const [lane, late] of this.#late) {
      if (late.size === 0) continue;
      const now = markOf(lane);
      for (const line of dueBy(late, now.given)) {
        const first = this.#file(line, at);
        if (first === undefined || line.shelf !== late || line.due > now.given) continue;
        line.moved = now;
        line.head++;
        found.push(first);
        this.#file(line, at);
      }
    }
    return found.sort((a, b) => a.run.no - b.run.no || AGING.indexOf(a.lane) - AGING.indexOf(b.lane));
  }

  /** Puts the line where it will be looked at when its first is due, and gives that one. */
  #file(line: Line, at: Instant): Candidate | undefined {
    line.shelf?.remove(line);
    line.shelf = undefined;
    while (line.head < line.items.length && !this.#waits(line.items[line.head] as Candidate)) line.head++;
    const first = line.items[line.head];
    if (first === undefined) return undefined;
    const { wait, dispatches } = this.#patience;
    const { entered } = first;
    const { moved = entered } = line;
    const early = Math.max(entered.at, moved.at) + wait;
    if (early > at) this.#put(line, this.#early, early);
    else this.#put(line, this.#late.get(line.lane) as Heap<Line>, Math.max(entered.given, moved.given) + dispatches);
    return first;
  }

  /** Forgets those who have gone, so that the line does not grow with the run. Each is looked at a few times in all. */
  #tidy(line: Line): void {
    line.items = line.items.slice(line.head).filter(this.#waits);
    line.head = 0;
    line.most = Math.max(KEPT_MIN, 2 * line.items.length);
  }

  #put(line: Line, shelf: Heap<Line>, due: number): void {
    line.shelf = shelf;
    line.due = due;
    shelf.push(line);
  }
}

/** Those that are due. Whoever is put back, due or not, is not given again. */
function dueBy(shelf: Heap<Line>, limit: number): readonly Line[] {
  const due: Line[] = [];
  for (let top = shelf.peek(); top !== undefined && top.due <= limit; top = shelf.peek()) {
    shelf.pop();
    due.push(top);
  }
  return due;
}

const KEPT_MIN = 1_024;
/** Nothing is above critical. */
const AGING: readonly Priority[] = PRIORITIES.filter((lane) => lane !== "critical");

export const laneAbove = (lane: Priority): Priority =>
  PRIORITIES[Math.max(0, PRIORITIES.indexOf(lane) - 1)] as Priority;

/** A task that has waited longer than it should moves up one lane. Tasks move one at a time, and begin a new wait in the new lane. */
import type { RunNo } from "../../domain/run.ts";
import { PRIORITIES, type Priority } from "../../domain/spec.ts";
import { type Instant, type Millis, seconds } from "../../domain/time.ts";
import { Heap, type Placed } from "../../std/heap.ts";
import type { Candidate, Mark } from "./queue.ts";

/** How long is too long: both limits must have passed, so that neither a busy second nor a quiet night counts as a wait. */
export interface Patience {
  /** How many tasks were given out before it. */
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

  /** Over all lanes. */
  all(at: Instant): Mark {
    return { at, given: PRIORITIES.reduce((sum, lane) => sum + this.#given[lane], 0) };
  }

  /** To lanes above this one. Where no task of a higher lane was given out, moving up would help no task. */
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
  /** In the order of coming. A task that has left stays in the list until the head reaches it. */
  items: Candidate[];
  head: number;
  /** The length at which the tasks that have left are removed. */
  most: number;
  /** When a task of this line last moved up. */
  moved: Mark | undefined;
  /** The heap that holds the line, while a task may wait in it. */
  shelf: Heap<Line> | undefined;
  /** The moment, or the count of given tasks, before which the line need not be looked at. */
  due: number;
}

const byDue = (a: Line, b: Line): boolean => a.due < b.due;

/**
 * The waiting lines of each run. One task of a line moves up at a time, and the next one not before as long a wait. Under overload every task
 * waits for long, and if all of them moved up, priorities and shares would mean nothing. So aging keeps each lane of each run from standing
 * still, and does no more than that. A line is looked at only when it may be due: there may be thousands of lines.
 */
export class WaitingLines {
  readonly #patience: Patience;
  readonly #waits: (candidate: Candidate) => boolean;
  readonly #lines = new Map<RunNo, ReadonlyMap<Priority, Line>>();
  /** Lines whose first task has not waited for long enough, ordered by when it will have. */
  readonly #early = new Heap<Line>(byDue);
  /** Lines whose first task has waited for long enough, ordered by how many tasks must have been given out before it moves up. */
  readonly #late: ReadonlyMap<Priority, Heap<Line>> = new Map(AGING.map((lane) => [lane, new Heap<Line>(byDue)]));

  /** `waits`: whether a candidate still waits. */
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

  /** The first task of each line that has waited too long. Each task is given once. */
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

  /** Puts the line into the heap where it is found when its first task is due, and gives that task. */
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

  /** Removes the tasks that have left, so that the line does not grow with the run. Each task is looked at a few times in all. */
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

/** Takes out the lines that are due. The caller may put a line back meanwhile: it is not given again. */
function dueBy(shelf: Heap<Line>, limit: number): readonly Line[] {
  const due: Line[] = [];
  for (let top = shelf.peek(); top !== undefined && top.due <= limit; top = shelf.peek()) {
    shelf.pop();
    due.push(top);
  }
  return due;
}

const KEPT_MIN = 1_024;
/** No lane is above critical. */
const AGING: readonly Priority[] = PRIORITIES.filter((lane) => lane !== "critical");

export const laneAbove = (lane: Priority): Priority =>
  PRIORITIES[Math.max(0, PRIORITIES.indexOf(lane) - 1)] as Priority;

/** Those who have waited longer than they should move up one lane, one at a time, and begin to wait anew. */
import type { RunNo } from "../domain/run.ts";
import { PRIORITIES, type Priority } from "../domain/spec.ts";
import { type Instant, type Millis, seconds } from "../domain/time.ts";
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

interface Line {
  /** In the order of coming. Who has left stays in it until reached. */
  items: Candidate[];
  head: number;
  /** When the last one moved up. */
  moved: Mark | undefined;
}

/**
 * The waiting lines of each run. One moves up at a time, and the next not before as long a wait: where there is more to do than can
 * be done everybody waits for long, and if all moved up then, priorities and shares would mean nothing. So aging keeps any lane of any
 * run from standing still, and no more than that.
 */
export class WaitingLines {
  readonly #lines = new Map<RunNo, ReadonlyMap<Priority, Line>>();

  join(run: RunNo): void {
    this.#lines.set(run, new Map(AGING.map((lane) => [lane, { items: [], head: 0, moved: undefined }])));
  }

  leave(run: RunNo): void {
    this.#lines.delete(run);
  }

  add(candidate: Candidate): void {
    this.#lines.get(candidate.run.no)?.get(candidate.lane)?.items.push(candidate);
  }

  /** The first of each line that has waited too long. Each is told once. */
  overdue(waits: (candidate: Candidate) => boolean, markOf: (lane: Priority) => Mark, patience: Patience): Candidate[] {
    const found: Candidate[] = [];
    for (const lines of this.#lines.values()) {
      for (const [lane, line] of lines) {
        if (line.items.length === line.head) continue;
        const first = firstOf(line, waits);
        const now = markOf(lane);
        if (first === undefined || !isOverdue(first.entered, now, patience)) continue;
        if (line.moved !== undefined && !isOverdue(line.moved, now, patience)) continue;
        line.moved = now;
        line.head++;
        found.push(first);
      }
    }
    return found;
  }
}

/** Nothing is above critical. */
const AGING = PRIORITIES.filter((lane) => lane !== "critical");

function firstOf(line: Line, waits: (candidate: Candidate) => boolean): Candidate | undefined {
  while (line.head < line.items.length && !waits(line.items[line.head] as Candidate)) line.head++;
  const first = line.items[line.head];
  // Forgets those who have gone, now and then, so that the line does not grow with the run.
  if (line.head > 1_024 && line.head * 2 > line.items.length) {
    line.items = line.items.slice(line.head);
    line.head = 0;
  }
  return first;
}

export const laneAbove = (lane: Priority): Priority =>
  PRIORITIES[Math.max(0, PRIORITIES.indexOf(lane) - 1)] as Priority;

/** Those who have waited longer than they should move up one lane, one at a time, and begin to wait anew. */
import { PRIORITIES, type Priority } from "../domain/spec.ts";
import { type Millis, seconds } from "../domain/time.ts";
import type { Candidate, Mark } from "./queue.ts";

/** How long is too long: both must have passed, so that neither a busy second nor a quiet night counts as a wait. */
export interface Patience {
  readonly dispatches: number;
  readonly wait: Millis;
}
export const PATIENCE: Patience = { dispatches: 100, wait: seconds(60) };

export const isOverdue = (since: Mark, now: Mark, patience: Patience): boolean =>
  now.given - since.given >= patience.dispatches && now.at - since.at >= patience.wait;

/** The waiting line of each lane, in the order of coming. Who has left stays in it until reached. */
export class WaitingLines {
  readonly #lines = new Map<Priority, { items: Candidate[]; head: number }>(
    PRIORITIES.map((lane) => [lane, { items: [], head: 0 }]),
  );

  add(candidate: Candidate): void {
    if (candidate.lane !== "critical") this.#lines.get(candidate.lane)?.items.push(candidate);
  }

  /** The first of each lane that has waited too long. Each is told once. */
  overdue(waits: (candidate: Candidate) => boolean, now: Mark, patience: Patience): Candidate[] {
    const found: Candidate[] = [];
    for (const line of this.#lines.values()) {
      while (line.head < line.items.length && !waits(line.items[line.head] as Candidate)) line.head++;
      const first = line.items[line.head];
      if (first !== undefined && isOverdue(first.entered, now, patience)) {
        found.push(first);
        line.head++;
      }
      // Forgets those who have gone, now and then, so that the line does not grow with the run.
      if (line.head > 1_024 && line.head * 2 > line.items.length) {
        line.items = line.items.slice(line.head);
        line.head = 0;
      }
    }
    return found;
  }
}

export const laneAbove = (lane: Priority): Priority =>
  PRIORITIES[Math.max(0, PRIORITIES.indexOf(lane) - 1)] as Priority;

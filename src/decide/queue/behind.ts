/** Tasks that wait for the files of another task: they are looked at again when that task is done with them, and not before. */
import type { TaskNews } from "../../domain/event.ts";
import type { Run } from "../../domain/run.ts";
import { PRIORITIES, type Priority } from "../../domain/spec.ts";
import { isTerminal, laneOf, type Task } from "../../domain/task.ts";
import { between, type Instant } from "../../domain/time.ts";
import type { Occupancy } from "../room/site.ts";
import type { Candidate } from "./queue.ts";

/** Something that the dispatcher noticed while it chose, and that the ledger records. */
export interface Notice {
  readonly run: Run;
  readonly task: Task;
  readonly news: TaskNews;
}

interface Standing {
  readonly candidate: Candidate;
  readonly since: Instant;
  /** Whether the task it waits for is less urgent. */
  readonly inverted: boolean;
}

export class Behind {
  readonly #standing = new Map<Task, Standing[]>();
  #notices: Notice[] = [];

  /** A less urgent holder takes over the lane of the waiting task, for what it still has to get. */
  stand(candidate: Candidate, holder: Task, holding: Occupancy | undefined, now: Instant): void {
    const { run, lane, task } = candidate;
    const inverted = holding !== undefined && holding.run === run && isBelow(holding.lane, lane);
    this.#standing.set(holder, [...(this.#standing.get(holder) ?? []), { candidate, since: now, inverted }]);
    if (!inverted || !isBelow(laneOf(holder), lane)) return;
    this.#notices.push({ run, task: holder, news: { kind: "priority_inherited", to: lane, by: task.no } });
  }

  /** The task is done with its files: gives the tasks that stood behind it and still wait. */
  release(holder: Task, waits: (candidate: Candidate) => boolean, now: Instant): readonly Candidate[] {
    const standing = this.#standing.get(holder);
    // Behind most tasks that end, no other task stands.
    if (standing === undefined) return [];
    this.#standing.delete(holder);
    const released = standing.filter(({ candidate }) => waits(candidate));
    for (const { candidate, since, inverted } of released) {
      const { run, task } = candidate;
      const news = { kind: "priority_inversion", holder: holder.no, forMs: between(since, now) } as const;
      if (inverted) this.#notices.push({ run, task, news });
    }
    return released.map(({ candidate }) => candidate);
  }

  /** A notice about a task that has ended meanwhile is dropped. */
  takeNotices(): readonly Notice[] {
    const notices = this.#notices.filter(({ task }) => !isTerminal(task.status.state));
    this.#notices = [];
    return notices;
  }
}

export const isBelow = (lane: Priority, other: Priority): boolean =>
  PRIORITIES.indexOf(lane) > PRIORITIES.indexOf(other);

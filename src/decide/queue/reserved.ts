/** Keeps room and files for one task that was passed over for too long, or whose run is owed more than it can get otherwise. */
import type { Run } from "../../domain/run.ts";
import type { Priority } from "../../domain/spec.ts";
import { laneOf, type Task } from "../../domain/task.ts";
import { type Instant, instant } from "../../domain/time.ts";
import type { Hazard, Locks } from "../room/locks.ts";
import { canTake, type Placement } from "../room/nodes.ts";
import { wholeDemand } from "../room/shapes.ts";
import type { Site } from "../room/site.ts";
import { isOverdue, type Patience, type Tally } from "./aging.ts";
import { isBelow } from "./behind.ts";
import type { Candidate } from "./queue.ts";
import { mayPass, type Shadow, shadowOf } from "./reservation.ts";

export interface ReservedDeps {
  readonly site: Pick<Site, "held">;
  readonly locks: Pick<Locks, "conflict" | "between">;
  readonly given: Pick<Tally, "all">;
  readonly patience: Patience;
  /** Whether the task waits for a service, or for less pressure: then nothing is kept from other tasks for it. */
  readonly isHeldBack: (candidate: Candidate, now: Instant) => boolean;
  /** When a task that started then would end. */
  readonly until: (run: Run, task: Task, since: Instant) => Instant;
}

export class Reserved {
  readonly #deps: ReservedDeps;
  #candidate: Candidate | undefined;
  /** The task to keep room for from the next choice on: the current choice goes by the state at its beginning. */
  #proposed: Candidate | undefined;

  constructor(deps: ReservedDeps) {
    this.#deps = deps;
  }

  /** The task that no other task may delay, if there is one. */
  current(now: Instant): Candidate | undefined {
    const { isHeldBack } = this.#deps;
    return this.#candidate === undefined || isHeldBack(this.#candidate, now) ? undefined : this.#candidate;
  }

  is(candidate: Candidate): boolean {
    return this.#candidate === candidate;
  }

  /** Ends the reservation. Gives the task it was for. */
  drop(): Task | undefined {
    const task = this.#candidate?.task;
    this.#candidate = undefined;
    return task;
  }

  /** Ends a reservation that has become useless, and gives the task it was for. */
  dropIdle(now: Instant): Task | undefined {
    return this.current(now) === undefined ? this.drop() : undefined;
  }

  /** It was the task's turn and it did not fit. When its patience is used up, no other task may delay it any more. */
  passOver(passed: Candidate, now: Instant): void {
    const { isHeldBack, given, patience } = this.#deps;
    if (isHeldBack(passed, now)) return;
    const mark = given.all(now);
    passed.passedSince ??= mark;
    if (isOverdue(passed.passedSince, mark, patience)) this.#proposed ??= passed;
  }

  /** The run is owed so much that tasks of its lane and below may not delay this task any more. */
  keepFor(candidate: Candidate): void {
    this.#proposed ??= candidate;
  }

  /** The task stands in another place now, and nothing else about it has changed. */
  takeOver(candidate: Candidate): void {
    this.#candidate = candidate;
  }

  /** The choice has been made. */
  settle(): void {
    this.#candidate ??= this.#proposed;
    this.#proposed = undefined;
  }

  /** Whether the reservation holds for this lane. More urgent work goes first, until the reserved task has lost all patience. */
  binds(lane: Priority, now: Instant): boolean {
    const { given, patience } = this.#deps;
    const reserved = this.current(now);
    if (reserved === undefined) return false;
    if (!isBelow(reserved.lane, lane)) return true;
    return reserved.passedSince !== undefined && isOverdue(reserved.passedSince, given.all(now), patience);
  }

  /** When the reserved task can start, and what is left over then. While it waits for files, only those are kept for it. */
  shadow(now: Instant): Shadow | undefined {
    const { locks, site, until } = this.#deps;
    const reserved = this.current(now);
    if (reserved === undefined || locks.conflict(reserved.run, reserved.task) !== undefined) return undefined;
    const out = Array.from(site.held(), ({ run, task, shape, placement, since }) => {
      const back = until(run, task, since);
      // A task that is late is expected to be late by as much again: its end is near at first, and further away the later it is.
      return { until: back > now ? back : instant(now + (now - back)), demands: wholeDemand(shape, placement) };
    });
    return shadowOf(reserved, out, now);
  }

  /** Where the candidate could start now without making the reserved task wait. */
  spotsFor(candidate: Candidate, shadow: Shadow | undefined, now: Instant): readonly Placement[] {
    const { run, task, shape, lane } = candidate;
    if (shadow === undefined || this.is(candidate) || !this.binds(lane, now)) return shape.placements;
    const until = this.#deps.until(run, task, now);
    return shape.placements.filter(
      (placement) => canTake(placement, now) && mayPass(wholeDemand(shape, placement), until, shadow),
    );
  }

  /** The files of the reserved task that the given task would conflict with. */
  hazard(run: Run, task: Task, now: Instant): Hazard | undefined {
    const reserved = this.current(now);
    if (reserved === undefined || reserved.task === task || !this.binds(laneOf(task), now)) return undefined;
    return this.#deps.locks.between(run, task, reserved.run, reserved.task);
  }
}

/** The best task of a lane over all runs: the runs that have had the least come first. */
import type { Run, RunNo } from "../../domain/run.ts";
import type { Priority } from "../../domain/spec.ts";
import type { Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import type { Breakers } from "../room/breakers.ts";
import type { Locks } from "../room/locks.ts";
import { bestSpot, canTake, type Node, type Placement } from "../room/nodes.ts";
import { fits, refilledAt } from "../room/room.ts";
import type { Shape } from "../room/shapes.ts";
import type { Site } from "../room/site.ts";
import type { Behind } from "./behind.ts";
import type { Fairness } from "./fairness.ts";
import type { Keys } from "./keys.ts";
import type { Candidate, Choice, RunQueue } from "./queue.ts";
import type { Shadow } from "./reservation.ts";
import type { Reserved } from "./reserved.ts";

export interface ChooserDeps {
  readonly queueOf: (run: RunNo) => RunQueue | undefined;
  readonly fairness: Pick<Fairness, "isWaited" | "order" | "isOwed" | "forfeit">;
  readonly reserved: Reserved;
  readonly behind: Pick<Behind, "stand">;
  readonly shared: {
    readonly locks: Pick<Locks, "conflict">;
    readonly keys: Pick<Keys, "holder">;
    readonly breakers: Pick<Breakers, "admits">;
  };
  readonly site: Pick<Site, "holding" | "affinity">;
  /** The first task of its run did not fit although it was the run's turn. */
  readonly passed: (candidate: Candidate) => void;
  /** The task leaves all queues until the task in its way is done. */
  readonly setAside: (candidate: Candidate) => void;
}

/** A run whose turn it was and of which no task fitted, and the first task that did not fit. */
interface Skipped {
  readonly no: RunNo;
  readonly passed: Candidate | undefined;
}

/** What one worker looks for, when a choice is made for it alone: only these runs and shapes are looked at. */
export interface Seeker {
  readonly sees: (shape: Shape) => boolean;
  readonly run?: RunNo;
  /** Only these lanes. */
  readonly lanes?: readonly Priority[];
  /** Whether the worker may have this task: asked of every task in turn, so it is left out where every task may go. */
  readonly passes?: (task: Task) => boolean;
}

export class Chooser {
  readonly #deps: ChooserDeps;
  /** When the first rate that a task waits for will have filled up enough. */
  refill: Instant | undefined;

  constructor(deps: ChooserDeps) {
    this.#deps = deps;
  }

  best(lane: Priority, shadow: Shadow | undefined, now: Instant, seeker?: Seeker): Candidate | undefined {
    const { fairness, queueOf, reserved } = this.#deps;
    if (!fairness.isWaited(lane)) return undefined;
    const skipped: Skipped[] = [];
    for (const no of seeker?.run === undefined ? fairness.order(lane, now) : [seeker.run]) {
      const queue = queueOf(no);
      if (queue === undefined) continue;
      const { best, passed } = this.#bestOfRun(queue, lane, shadow, now, seeker);
      if (best === undefined) {
        skipped.push({ no, passed });
        if (passed !== undefined) this.#deps.passed(passed);
      } else {
        // While room is kept for a task, not going says nothing about a run. Nor does it when only some of the run's tasks were looked at.
        if (reserved.current(now) === undefined && seeker === undefined)
          for (const each of skipped) this.#judge(each, best, now);
        return best;
      }
    }
    return undefined;
  }

  /** A task that waits for the files or the key of another task is withheld until that task lets go of them. */
  #bestOfRun(
    queue: RunQueue,
    lane: Priority,
    shadow: Shadow | undefined,
    now: Instant,
    seeker: Seeker | undefined,
  ): Choice {
    const { reserved, behind, site } = this.#deps;
    const may = seeker?.passes;
    const passes =
      shadow === undefined && may === undefined
        ? undefined
        : (candidate: Candidate): boolean =>
            (shadow === undefined || reserved.spotsFor(candidate, shadow, now).length > 0) &&
            (may === undefined || may(candidate.task));
    for (;;) {
      const choice = queue.best(lane, now, this.#fits, passes, seeker?.sees);
      const { best, passed } = choice;
      const holder = best && this.#inTheWay(best.run, best.task, now);
      if (best === undefined || holder === undefined) {
        if (passed !== undefined) reserved.passOver(passed, now);
        return choice;
      }
      queue.remove(best);
      this.#deps.setAside(best);
      behind.stand(best, holder, site.holding(holder), now);
      reserved.passOver(best, now);
    }
  }

  /** Where a chosen task goes. */
  spotFor(candidate: Candidate, shadow: Shadow | undefined, now: Instant): Placement | undefined {
    const { reserved, site } = this.#deps;
    const placements = reserved.spotsFor(candidate, shadow, now);
    // With only one place there is nothing to compare.
    if (placements.length === 1) return canTake(placements[0] as Placement, now) ? placements[0] : undefined;
    const { run, task } = candidate;
    const affinity = (node: Node): number => site.affinity(run, task, node);
    return bestSpot(placements, { affinity, avoided: task.lostBy }, now);
  }

  /** Whether the seeker may have this candidate: the checks of `best`, for a candidate that stands in no queue. */
  mayGo(candidate: Candidate, { sees, run: only, lanes, passes }: Seeker, now: Instant): boolean {
    const { run, task, shape, status, lane } = candidate;
    const isSought =
      sees(shape) &&
      (only === undefined || only === run.no) &&
      lanes?.includes(lane) !== false &&
      passes?.(task) !== false;
    if (!isSought || status.notBefore > now || !this.#fits(candidate, now)) return false;
    return this.#inTheWay(run, task, now) === undefined;
  }

  /** The task that holds its key or its files. */
  #inTheWay(run: Run, task: Task, now: Instant): Task | undefined {
    const { reserved } = this.#deps;
    const { keys, locks } = this.#deps.shared;
    return keys.holder(task)?.task ?? (locks.conflict(run, task) ?? reserved.hazard(run, task, now))?.holder;
  }

  /** Whether any node has room for it, and its service answers. One function for the whole life: it is called for every task that is given out. */
  readonly #fits = ({ shape }: Candidate, now: Instant): boolean => {
    if (!this.#isServed(shape.provider, now)) return false;
    if (!fits(shape.own, now)) {
      const at = refilledAt(shape.own, now);
      if (at !== undefined && (this.refill === undefined || at < this.refill)) this.refill = at;
      return false;
    }
    for (const placement of shape.placements) if (canTake(placement, now)) return true;
    return false;
  };

  /** A run whose task does not fit because of other runs keeps its turn, and room is kept for it. A run that its own limits hold back loses the turn. */
  #judge({ no, passed }: Skipped, { run, lane }: Candidate, now: Instant): void {
    const { fairness, reserved } = this.#deps;
    if (passed === undefined || !fits(passed.shape.own, now) || !this.#isServed(passed.shape.provider, now)) {
      fairness.forfeit(no, run.no, lane, now);
    } else if (fairness.isOwed(no, run.no, lane, passed.shape.share, now)) reserved.keepFor(passed);
  }

  #isServed(provider: string | undefined, now: Instant): boolean {
    return provider === undefined || this.#deps.shared.breakers.admits(provider, now);
  }
}

/** Every ready task, and where it stands: in the queue, backing off, behind the files of another task, or withheld. */

import type { WorkerId } from "../../domain/ids.ts";
import type { Run, RunNo } from "../../domain/run.ts";
import type { Priority } from "../../domain/spec.ts";
import { laneOf, type Ready, type Task } from "../../domain/task.ts";
import { between, type Instant, later, millis } from "../../domain/time.ts";
import type { Pause } from "../../domain/waiting/pause.ts";
import type { Pauses } from "../../domain/waiting/pauses.ts";
import { Heap } from "../../std/heap.ts";
import type { Shape } from "../room/shapes.ts";
import { laneAbove, type Patience, type Tally, WaitingLines } from "./aging.ts";
import { Behind, type Notice } from "./behind.ts";
import type { Fairness } from "./fairness.ts";
import type { Candidate, Mark, RunQueue } from "./queue.ts";
import { Withheld } from "./withheld.ts";

export interface WaitingDeps {
  readonly queueOf: (run: RunNo) => RunQueue | undefined;
  readonly rankOf: (run: Run, task: Task) => number;
  readonly shapeOf: (run: Run, task: Task) => Shape;
  /** Whether there is a node that could ever take a task of this shape. */
  readonly isPossible: (shape: Shape) => boolean;
  readonly fairness: Pick<Fairness, "queue" | "unqueue">;
  readonly given: Tally;
  readonly patience: Patience;
  readonly pauses: Pauses;
  /** The task is in no queue, because no worker can do it. */
  readonly setAside: (candidate: Candidate) => void;
}

export class Waiting {
  readonly #withheld: Withheld;
  readonly behind = new Behind();
  readonly #lines: WaitingLines;
  readonly #deps: WaitingDeps;
  readonly #candidates = new Map<Task, Candidate>();
  /** How many tasks of each run could go if there were room for them. */
  readonly #movable = new Map<RunNo, number>();
  /** Tasks that back off: ready, but not yet. */
  readonly #delayed = new Heap<Candidate>((a, b) => a.status.notBefore < b.status.notBefore);

  constructor(deps: WaitingDeps) {
    this.#deps = deps;
    this.#withheld = new Withheld(deps.pauses);
    this.#lines = new WaitingLines(deps.patience, this.#waits);
  }

  join(run: RunNo): void {
    this.#lines.join(run);
  }

  /** The run has ended: no task of it waits. */
  forget(run: RunNo): void {
    this.#lines.leave(run);
    this.#movable.delete(run);
  }

  /** Whether some ready task of the run could go now or later by itself. */
  canMove(run: RunNo): boolean {
    return (this.#movable.get(run) ?? 0) > 0;
  }

  get size(): number {
    return this.#candidates.size;
  }

  get(task: Task): Candidate | undefined {
    return this.#candidates.get(task);
  }

  values(): Iterable<Candidate> {
    return this.#candidates.values();
  }

  /** Every task that is kept for a session. */
  offered(): Iterable<Candidate> {
    return this.#withheld.offered();
  }

  /** The tasks that are kept for the session and are not on hold. */
  offeredTo(session: WorkerId): readonly Candidate[] {
    return this.#withheld.offeredTo(session);
  }

  /** Whether a task is kept for the session. */
  isOfferedTo(session: WorkerId): boolean {
    return this.#withheld.isFor(session);
  }

  /** Why the task is on hold, if it is. */
  pauseOf(run: Run, task: Task): Pause | undefined {
    return this.#deps.pauses.of(run, task);
  }

  /** Since when the task waits, without the time for which it was on hold. */
  since({ status, hold }: Candidate): Instant {
    return hold === undefined ? status.since : later(status.since, hold.for);
  }

  /** The end of the first back-off. */
  get nextWake(): Instant | undefined {
    return this.#delayed.peek()?.status.notBefore;
  }

  /** Whether a task whose back-off has ended stands in one of the lanes and has not come into the queue yet. */
  isDue(lanes: readonly Priority[], now: Instant): boolean {
    return this.#delayed.values().some((each) => each.status.notBefore <= now && lanes.includes(each.lane));
  }

  /** `before`: the candidate of the same task until now, if the task only moves to another place. Its wait so far counts. */
  enter(run: Run, task: Task, status: Ready, now: Instant, before?: Candidate): Candidate | undefined {
    const { queueOf, rankOf, shapeOf, isPossible } = this.#deps;
    if (queueOf(run.no) === undefined) return undefined;
    const lane = laneOf(task);
    const shape = shapeOf(run, task);
    const entered = this.#markFor(lane, status, now);
    const rank = rankOf(run, task);
    const { no } = task;
    const candidate: Candidate = {
      run,
      task,
      no,
      status,
      shape,
      lane,
      rank,
      place: -1,
      entered,
      passedSince: before?.passedSince,
      hold: before?.hold,
      standing: "waits",
    };
    this.#candidates.set(task, candidate);
    this.#hold(candidate);
    if (isPossible(shape)) this.#count(run.no, 1);
    this.#place(candidate, now);
    return candidate;
  }

  leave(task: Task): Candidate | undefined {
    const candidate = this.#candidates.get(task);
    if (candidate === undefined) return undefined;
    this.#candidates.delete(task);
    if (this.#deps.isPossible(candidate.shape)) this.#count(candidate.run.no, -1);
    this.#unline(candidate);
    candidate.standing = "gone";
    return candidate;
  }

  /** What is on hold has changed, for one run or for all: looks at every candidate again. Each keeps the wait it has had so far. */
  review(now: Instant, only?: Run): void {
    const all = only === undefined ? this.#candidates.values() : only.tasks.map((task) => this.#candidates.get(task));
    for (const candidate of [...all]) {
      if (candidate === undefined) continue;
      const { run, task, status, hold } = candidate;
      const isOnHold = this.pauseOf(run, task) !== undefined;
      if (hold?.since !== undefined && !isOnHold) {
        // The pause may have been set by a clock that has been set back since.
        const held = Math.max(0, between(hold.since, now));
        candidate.hold = { for: millis(hold.for + held), since: undefined };
      } else this.#hold(candidate);
      // Where nothing has changed for the candidate, it stays where it stands.
      const isAside = candidate.standing === "aside";
      if ((isOnHold || task.offer !== undefined) === isAside) continue;
      if (isAside) {
        this.#bringBack(candidate, now);
        continue;
      }
      this.leave(task);
      this.enter(run, task, status, now, candidate);
    }
  }

  /** No other part has a reference to a withheld candidate: withholding makes a new one. So the same object can go back into the queue. */
  #bringBack(candidate: Candidate, now: Instant): void {
    this.#withheld.remove(candidate);
    candidate.entered = this.#markFor(candidate.lane, candidate.status, now);
    this.#place(candidate, now);
  }

  /** Moves candidates whose back-off has ended into the queue. */
  undelay(now: Instant): void {
    for (let top = this.#delayed.peek(); top !== undefined && top.status.notBefore <= now; top = this.#delayed.peek()) {
      this.#delayed.pop();
      this.#line(top, now);
    }
  }

  /** Looks again at the tasks that stood behind this task's files. */
  wakeBehind(holder: Task | undefined, now: Instant): void {
    if (holder === undefined) return;
    for (const candidate of this.behind.release(holder, this.#waits, now)) {
      this.#deps.queueOf(candidate.run.no)?.add(candidate);
    }
  }

  /** Tasks that have waited too long move up. */
  age(now: Instant): readonly Notice[] {
    const markOf = (lane: Priority): Mark => this.#deps.given.above(lane, now);
    return this.#lines.overdue(markOf, now).map(({ run, task, lane, status }) => ({
      run,
      task,
      news: { kind: "aged_boost", from: lane, to: laneAbove(lane), waitedMs: between(status.since, now) },
    }));
  }

  /** The moment from which the wait in the lane is counted. */
  #markFor(lane: Priority, { notBefore }: Ready, now: Instant): Mark {
    return this.#deps.given.above(lane, notBefore > now ? notBefore : now);
  }

  #place(candidate: Candidate, now: Instant): void {
    if (this.#withheld.takes(candidate)) return;
    if (candidate.status.notBefore > now) this.#delayed.push(candidate);
    else this.#line(candidate, now);
  }

  #line(candidate: Candidate, now: Instant): void {
    // A task that no worker can do must not stand in the way of others.
    if (!this.#deps.isPossible(candidate.shape)) return this.#deps.setAside(candidate);
    this.#deps.fairness.queue(candidate.run, candidate.lane, now);
    this.#lines.add(candidate);
    this.#deps.queueOf(candidate.run.no)?.add(candidate);
  }

  #count(run: RunNo, by: 1 | -1): void {
    this.#movable.set(run, (this.#movable.get(run) ?? 0) + by);
  }

  #unline(candidate: Candidate): void {
    if (candidate.standing === "aside") return this.#withheld.remove(candidate);
    if (this.#delayed.values()[candidate.place] === candidate) return this.#delayed.remove(candidate);
    if (!this.#deps.isPossible(candidate.shape)) return;
    this.#deps.fairness.unqueue(candidate.run, candidate.lane);
    this.#deps.queueOf(candidate.run.no)?.remove(candidate);
  }

  /** Notes since when the candidate is on hold: at the earliest since when it could have gone. */
  #hold(candidate: Candidate): void {
    const { run, task, status, hold } = candidate;
    const pause = this.pauseOf(run, task);
    if (pause === undefined || hold?.since !== undefined) return;
    candidate.hold = { for: hold?.for ?? millis(0), since: pause.at > status.since ? pause.at : status.since };
  }

  readonly #waits = ({ standing }: Candidate): boolean => standing === "waits";
}

/** Which ready task goes next, and to which worker. Follows the changes of the World; the same changes always give the same choices. */

import { type History, NO_HISTORY } from "../domain/durations/history.ts";
import type { DispatchEvidence } from "../domain/event.ts";
import type { WorkerId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import { PRIORITIES, type Priority, poolOf } from "../domain/spec.ts";
import { isHeld, isWorking, laneOf, type Task } from "../domain/task.ts";
import { between, earliest, type Instant } from "../domain/time.ts";
import type { Change } from "../domain/world.ts";
import { broken, invariant } from "../std/invariant.ts";
import { type DispatcherOptions, type DispatcherParts, partsOf } from "./dispatcher-parts.ts";
import { placeOf } from "./order/run-index.ts";
import type { Notice } from "./queue/behind.ts";
import type { Seeker } from "./queue/chooser.ts";
import { NO_PRESSURE, PRESSURE_POLICY, type Pressure, type PressureMode, workersAllowed } from "./queue/pressure.ts";
import type { Candidate } from "./queue/queue.ts";
import type { Hazard } from "./room/locks.ts";
import type { Node, Placement } from "./room/nodes.ts";
import { fits, type Resource } from "./room/room.ts";
import type { Occupancy, Site } from "./room/site.ts";

export interface Assignment {
  readonly run: Run;
  readonly task: Task;
  readonly worker: WorkerId;
  readonly evidence: DispatchEvidence;
}

export class Dispatcher {
  /** What is kept about each run. */
  readonly runs: DispatcherParts["runs"];
  readonly #site: Site;
  readonly #lanes: DispatcherParts["lanes"];
  readonly #fairness: DispatcherParts["fairness"];
  readonly #shared: DispatcherParts["shared"];
  readonly #pool: string | undefined;
  readonly keys: Pick<DispatcherParts["shared"]["keys"], "holder">;
  readonly breakers: Pick<DispatcherParts["shared"]["breakers"], "of" | "admits" | "recall">;
  readonly nodes: readonly Node[];
  readonly roster: DispatcherOptions["roster"];
  /** Sessions that a task names as its only possible worker. */
  readonly owners = new Set<string>();
  readonly #given: DispatcherParts["given"];
  /** Every ready task. */
  readonly ready: DispatcherParts["ready"];
  readonly #reserved: DispatcherParts["reserved"];
  readonly #chooser: DispatcherParts["chooser"];
  #pressure: Pressure = NO_PRESSURE;

  constructor(options: DispatcherOptions) {
    const parts = partsOf(options, (candidate, now) => this.#isHeldBack(candidate, now));
    this.runs = parts.runs;
    this.#site = parts.site;
    this.#lanes = parts.lanes;
    this.#fairness = parts.fairness;
    this.#shared = parts.shared;
    this.#given = parts.given;
    this.ready = parts.ready;
    this.#reserved = parts.reserved;
    this.#chooser = parts.chooser;
    this.#pool = options.pool;
    this.roster = options.roster;
    this.keys = parts.shared.keys;
    this.breakers = parts.shared.breakers;
    this.nodes = parts.site.nodes;
  }

  /** Takes a run up: its tasks as they are now, and what earlier runs have shown of them. */
  admit(run: Run, history: History = NO_HISTORY, now?: Instant): void {
    this.#shared.join(run, now);
    // The workers here do not show how long the tasks of other pools take.
    const isMixed = this.roster !== undefined || run.tasks.some((task) => !this.#isMine(task));
    this.runs.keep(placeOf(run, history, this.#site, isMixed));
    this.#fairness.join(run);
    this.ready.join(run.no);
    for (const task of run.tasks) {
      const { status } = task;
      if (!this.#isMine(task)) continue;
      this.#owned(task);
      if (status.state === "ready") this.ready.enter(run, task, status, status.since);
      if (isWorking(status)) this.#occupy(run, task, status.lease.worker, laneOf(task), status.since);
      if (status.state === "verifying") this.#shared.locks.hold(run, task);
    }
  }

  /** Lets go of a run that has ended. */
  dismiss(run: Run): void {
    this.runs.drop(run);
    this.#fairness.leave(run);
    this.ready.forget(run.no);
    this.#site.leave(run);
    this.#shared.leave(run);
  }

  observe(change: Change): void {
    const { run, task, from, to, cause } = change;
    // A task of a run that this pool does not have may have held files that a task of this pool waits for.
    if (!this.runs.knows(run)) {
      if (isHeld(from) && !isHeld(to)) this.ready.wakeBehind(task, cause.at);
      return;
    }
    if (cause.kind === "edited") this.#owned(task);
    const before = from.state === "ready" ? this.ready.leave(task) : undefined;
    const isKeptFor = before !== undefined && this.#reserved.is(before);
    if (isKeptFor) this.ready.wakeBehind(this.#reserved.drop(), cause.at);
    if (isWorking(from) && !isWorking(to)) this.#yield(change);
    if (isHeld(from) && !isHeld(to)) this.#unlock(change);
    if (!isWorking(from) && isWorking(to)) this.#seize(change);
    if (to.state !== "ready") return;
    const entered = this.ready.enter(run, task, to, cause.at, before);
    if (isKeptFor && entered !== undefined) this.#reserved.takeOver(entered);
  }

  /** How full the queue is decides how many tasks run at once, and of which lanes. */
  set pressure(pressure: Pressure) {
    this.#pressure = pressure;
  }

  /** Tasks that have waited too long move up. To be called in each turn, also when no worker asks for a task: a task is due only once. */
  age(now: Instant): readonly Notice[] {
    this.ready.undelay(now);
    if ((this.#chooser.refill ?? now) <= now) this.#chooser.refill = undefined;
    return this.ready.age(now);
  }

  /** What was noticed since the last time. */
  takeNotices(): readonly Notice[] {
    return this.ready.behind.takeNotices();
  }

  /** What is on hold has changed: looks again at every waiting task, of one run or of all. */
  review(now: Instant, only?: Run): void {
    this.ready.wakeBehind(this.#reserved.drop(), now);
    this.ready.review(now, only);
  }

  /** The next assignment, or nothing when nothing that is ready fits what is free. */
  next(now: Instant): Assignment | undefined {
    const found = this.#choose(now);
    const worker = found?.placement.node.next(found.candidate.task.lostBy);
    return found && worker && this.#assign(found.candidate, worker, now);
  }

  /** The next assignment for this worker alone: tasks that are kept for it come first. */
  nextFor(worker: WorkerId, seeker: Seeker, now: Instant): Assignment | undefined {
    if (!this.#site.isIdle(worker)) return undefined;
    const kept = this.ready.offeredTo(worker).find((each) => this.#mayGo(each, seeker, now));
    const candidate = kept ?? this.#choose(now, seeker)?.candidate;
    return candidate && this.#assign(candidate, worker, now);
  }

  /** What the worker would be given, without giving it. */
  peekFor(worker: WorkerId, seeker: Seeker, now: Instant): { readonly run: Run; readonly task: Task } | undefined {
    return this.#site.isIdle(worker) ? this.#choose(now, seeker)?.candidate : undefined;
  }

  /** Whether the worker could be given anything. */
  isIdle(worker: WorkerId): boolean {
    return this.#site.isIdle(worker);
  }

  /** This task for this worker, if it may have it now. */
  exactFor(worker: WorkerId, seeker: Seeker, task: Task, now: Instant): Assignment | undefined {
    this.ready.undelay(now);
    const candidate = this.ready.get(task);
    if (candidate === undefined || !this.#site.isIdle(worker)) return undefined;
    const { offer } = task;
    const isKeptFromIt = offer !== undefined && offer.session !== worker && offer.until >= now;
    if (isKeptFromIt || this.ready.pauseOf(candidate.run, task) !== undefined) return undefined;
    return this.#mayGo(candidate, seeker, now) ? this.#assign(candidate, worker, now) : undefined;
  }

  #mayGo(candidate: Candidate, seeker: Seeker, now: Instant): boolean {
    if (this.#isFull(now) || this.defers(candidate.lane, now)) return false;
    return this.#chooser.mayGo(candidate, seeker, now);
  }

  #assign({ run, task, status, rank, lane }: Candidate, worker: WorkerId, now: Instant): Assignment {
    this.#given.add(lane);
    return { run, task, worker, evidence: { lane, rank: Math.round(rank), waitedMs: between(status.since, now) } };
  }

  #choose(now: Instant, seeker?: Seeker): { readonly candidate: Candidate; readonly placement: Placement } | undefined {
    const lanes = seeker?.lanes ?? PRIORITIES;
    this.ready.undelay(now);
    // A seeker looks at some shapes only, so what other tasks wait for stays known.
    if (seeker === undefined) this.#chooser.refill = undefined;
    this.ready.wakeBehind(this.#reserved.dropIdle(now), now);
    if (this.idle === 0 || this.#isFull(now)) return undefined;
    const shadow = this.#reserved.shadow(now);
    const candidate = this.#lanes.pick((lane) =>
      lanes.includes(lane) && !this.defers(lane, now) ? this.#chooser.best(lane, shadow, now, seeker) : undefined,
    );
    const placement = candidate && this.#chooser.spotFor(candidate, shadow, now);
    this.#reserved.settle();
    if (candidate === undefined) return undefined;
    invariant(placement !== undefined, "a task that was chosen has a place to go");
    return { candidate, placement };
  }

  /** The next moment at which a task may go that cannot go now: the end of a back-off, a rate or a breaker. */
  nextWake(now: Instant): Instant | undefined {
    const { until } = this.#site.shortness;
    const room = until > now ? until : undefined;
    return earliest(this.ready.nextWake, this.#chooser.refill, this.#shared.breakers.nextTrial(now), room);
  }

  /** Whether some ready task of the run could go now or later by itself. */
  canMove(run: Run): boolean {
    return this.ready.canMove(run.no);
  }

  /** The required capabilities that the best node, or the best session, lacks. */
  missing(requires: readonly string[]): readonly string[] {
    return this.roster?.missing(requires) ?? this.#site.missing(requires);
  }

  /** Whose files are in the way: those of a running task, or of a task for which they are reserved. */
  hazard(run: Run, task: Task, now: Instant): Hazard | undefined {
    return this.#shared.locks.conflict(run, task) ?? this.#reserved.hazard(run, task, now);
  }

  get idle(): number {
    return this.#site.idle;
  }

  get workers(): number {
    return this.#site.workers;
  }

  get mode(): PressureMode {
    return this.#pressure.mode;
  }

  get pressure(): Pressure {
    return this.#pressure;
  }

  /** How many tasks may run at once under this pressure. */
  get allowed(): number {
    return this.mode === "normal" ? Number.POSITIVE_INFINITY : workersAllowed(this.mode, this.#site.slots);
  }

  /** Whether this machine has room for more. */
  get shortness(): Site["shortness"] {
    return this.#site.shortness;
  }

  set shortness(known: Site["shortness"]) {
    this.#site.shortness = known;
  }

  /** Whether the machine was short of room a moment ago, and has not shown yet that there is more. */
  isShort(now: Instant): boolean {
    return this.shortness.until > now || this.out >= this.shortness.allowed;
  }

  #isFull(now: Instant): boolean {
    return this.out >= this.allowed || this.isShort(now);
  }

  /** How many tasks are held. */
  get out(): number {
    return this.#site.out;
  }

  /** Whether the lane has to wait for less pressure. Not when other lanes have nothing to do: a queue that stands still never empties. */
  defers(lane: Priority, now: Instant): boolean {
    const { dispatches } = PRESSURE_POLICY[this.mode];
    if (dispatches.includes(lane)) return false;
    if (this.out > 0) return true;
    for (const queue of this.runs.queues()) if (dispatches.some((each) => !queue.isEmpty(each))) return true;
    return this.ready.isDue(dispatches, now);
  }

  /** A single dispatcher answers for every task. */
  of(): Dispatcher {
    return this;
  }

  /** A worker joined a pool whose workers come and go. */
  enrol(worker: WorkerId, slots: number): void {
    this.#site.nodes[0]?.enrol(worker, slots);
  }

  dismissWorker(worker: WorkerId): void {
    this.#site.nodes[0]?.dismiss(worker);
  }

  nodeOf(worker: WorkerId): Node {
    return this.#site.nodeOf(worker);
  }

  /** The task for which room is kept, and what that means for other tasks. */
  get reservation(): Pick<DispatcherParts["reserved"], "current" | "binds" | "shadow"> {
    return this.#reserved;
  }

  /** Every held task of every run. */
  held(): Iterable<Occupancy> {
    return this.#site.held();
  }

  resources(): Iterable<Resource> {
    return this.#site.resources();
  }

  #isHeldBack({ shape, lane, task }: Candidate, now: Instant): boolean {
    return (
      this.defers(lane, now) ||
      this.keys.holder(task) !== undefined ||
      (shape.provider !== undefined && !this.#shared.breakers.admits(shape.provider, now))
    );
  }

  #seize({ run, task, to, cause }: Change): void {
    if (!isWorking(to)) return;
    const { own } = this.runs.shapeOf(run, task);
    if (!fits(own, cause.at)) broken(`${task.spec.id} does not fit what is free`);
    const lane = cause.kind === "claimed" ? cause.evidence.lane : laneOf(task);
    this.#occupy(run, task, to.lease.worker, lane, cause.at);
  }

  #occupy(run: Run, task: Task, worker: WorkerId, lane: Priority, since: Instant): void {
    const shape = this.runs.shapeOf(run, task);
    this.#site.occupy({ run, task, shape, lane, worker, since });
    this.#shared.locks.hold(run, task);
    this.#fairness.start(run, { lane, own: task.spec.priority }, shape.share, since);
    if (shape.provider !== undefined) this.#shared.breakers.sent(shape.provider, task, since);
  }

  #yield({ task, cause, to }: Change): void {
    const holding = this.#site.release(task, to.state === "succeeded" || to.state === "verifying");
    if (holding === undefined) return;
    const { run, shape, lane, since } = holding;
    const ways = { lane, own: task.spec.priority };
    this.#fairness.end(run, ways, shape.share, between(since, cause.at), cause.at);
    if (shape.provider !== undefined) this.#shared.breakers.returned(shape.provider, task, cause);
    // Sessions know of their own machines.
    if (this.roster === undefined) this.#site.ended(cause);
    this.ready.wakeBehind(task, cause.at);
  }

  /** The lease has ended, and with it the lock on files. */
  #unlock({ task, cause }: Change): void {
    this.#shared.locks.release(task);
    this.ready.wakeBehind(task, cause.at);
  }

  #owned({ spec: { session } }: Task): void {
    if (session !== undefined) this.owners.add(session);
  }

  #isMine({ spec }: Task): boolean {
    return this.#pool === undefined || poolOf(spec) === this.#pool;
  }
}

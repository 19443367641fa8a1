/** Which ready task goes next, and to which worker. Follows the changes of the World; the same changes always give the same choices. */
import type { DispatchEvidence } from "../domain/event.ts";
import { type History, NO_HISTORY } from "../domain/history.ts";
import type { WorkerId } from "../domain/ids.ts";
import type { Run, RunNo } from "../domain/run.ts";
import type { Priority } from "../domain/spec.ts";
import { isHeld, laneOf, type Ready, type Task } from "../domain/task.ts";
import { between, earliest, type Instant, later, millis } from "../domain/time.ts";
import type { Change } from "../domain/world.ts";
import { Heap } from "../std/heap.ts";
import { invariant } from "../std/invariant.ts";
import { laneAbove, PATIENCE, type Patience, Tally, WaitingLines } from "./aging.ts";
import { Behind, type Notice } from "./behind.ts";
import { Breakers } from "./breakers.ts";
import { Chooser } from "./chooser.ts";
import { type Estimates, estimate } from "./estimates.ts";
import { Fairness } from "./fairness.ts";
import { type LanePolicy, Lanes } from "./lanes.ts";
import { type Hazard, Locks } from "./locks.ts";
import { bestSpot, type Node, type NodeSpec, type Spot } from "./nodes.ts";
import { NO_PRESSURE, PRESSURE_POLICY, type Pressure, type PressureMode, workersAllowed } from "./pressure.ts";
import { type Candidate, type Mark, RunQueue } from "./queue.ts";
import { upwardRanks } from "./rank.ts";
import { NEVER, type Shadow } from "./reservation.ts";
import { Reserved } from "./reserved.ts";
import { fits, type Pot } from "./room.ts";
import { type Shape, Shapes } from "./shapes.ts";
import { type Holding, Site } from "./site.ts";

/** The first three describe this machine. */
export interface DispatcherOptions extends Omit<NodeSpec, "name"> {
  readonly others?: readonly NodeSpec[];
  readonly patience?: Patience;
  readonly priorities?: LanePolicy;
}

export interface Assignment {
  readonly run: Run;
  readonly task: Task;
  readonly worker: WorkerId;
  readonly evidence: DispatchEvidence;
}

/** What the dispatcher keeps about a run. */
interface RunPlace {
  readonly run: Run;
  readonly queue: RunQueue;
  readonly shapes: Shapes;
  readonly estimates: Estimates;
  ranks: Float64Array;
}

export class Dispatcher {
  readonly #patience: Patience;
  readonly #site: Site;
  readonly #lanes: Lanes;
  readonly #fairness = new Fairness();
  readonly #locks = new Locks();
  readonly #breakers = new Breakers();
  readonly #lines = new WaitingLines();
  readonly #behind = new Behind();
  readonly #given = new Tally();
  readonly #places = new Map<RunNo, RunPlace>();
  readonly #candidates = new Map<Task, Candidate>();
  /** Backing off: ready, but not yet. */
  readonly #delayed = new Heap<Candidate>((a, b) => a.status.notBefore < b.status.notBefore);
  readonly #reserved: Reserved;
  readonly #chooser: Chooser;
  #pressure: Pressure = NO_PRESSURE;

  constructor(options: DispatcherOptions) {
    this.#patience = options.patience ?? PATIENCE;
    this.#lanes = new Lanes(options.priorities ?? "shares");
    this.#site = new Site([{ name: "local", ...options }, ...(options.others ?? [])]);
    this.#reserved = new Reserved({
      site: this.#site,
      locks: this.#locks,
      given: this.#given,
      patience: this.#patience,
      isHeldBack: (candidate, now) => this.#isHeldBack(candidate, now),
      until: (run, task, since) => this.until(run, task, since),
    });
    this.#chooser = new Chooser({
      queueOf: (no) => this.#places.get(no)?.queue,
      fairness: this.#fairness,
      reserved: this.#reserved,
      behind: this.#behind,
      locks: this.#locks,
      breakers: this.#breakers,
      site: this.#site,
    });
  }

  /** Takes a run up: its tasks as they are now, and what earlier runs have shown of them. */
  admit(run: Run, history: History = NO_HISTORY): void {
    this.#site.join(run);
    const specs = run.tasks.map(({ spec }) => spec);
    const estimates = estimate(specs, ({ id }) => history.durations.get(id), history.error);
    const ranks = upwardRanks(run.graph, estimates.costs);
    const shapes = new Shapes(run, this.#site.shared, this.#site.nodes);
    this.#places.set(run.no, { run, queue: new RunQueue(), shapes, estimates, ranks });
    this.#fairness.join(run);
    this.#lines.join(run.no);
    for (const task of run.tasks) {
      const { status } = task;
      if (status.state === "ready") this.#enter(run, task, status, status.since);
      if (isHeld(status)) this.#occupy(run, task, status.lease.worker, laneOf(task), status.since);
    }
  }

  /** Lets go of a run that has ended. */
  dismiss(run: Run): void {
    this.#places.delete(run.no);
    this.#fairness.leave(run);
    this.#lines.leave(run.no);
    this.#site.leave(run);
  }

  knows(run: Run): boolean {
    return this.#places.has(run.no);
  }

  observe({ run, task, from, to, cause }: Change): void {
    if (!this.knows(run)) return;
    const before = this.#candidates.get(task);
    const isKeptFor = before !== undefined && this.#reserved.is(before);
    if (from.state === "ready") this.#leave(task, cause.at);
    if (isHeld(from) && !isHeld(to)) this.#yield(task, { run, task, from, to, cause });
    if (!isHeld(from) && isHeld(to)) this.#seize(run, task, { run, task, from, to, cause });
    if (to.state !== "ready") return;
    const entered = this.#enter(run, task, to, cause.at);
    if (from.state !== "ready" || entered === undefined) return;
    // It only moved up: what it has waited for so far counts.
    entered.passedSince = before?.passedSince;
    if (isKeptFor) this.#reserved.takeOver(entered);
  }

  /** How full the queue is changes how many go out at once, and which. */
  set pressure(pressure: Pressure) {
    this.#pressure = pressure;
  }

  /** Those who have waited too long move up. To be asked for before each round of `next`. */
  age(now: Instant): readonly Notice[] {
    const markOf = (lane: Priority): Mark => this.#given.above(lane, now);
    return this.#lines.overdue(this.#waits, markOf, this.#patience).map(({ run, task, lane, status }) => ({
      run,
      task,
      news: { kind: "aged_boost", from: lane, to: laneAbove(lane), waitedMs: between(status.since, now) },
    }));
  }

  /** What was noticed since the last time. */
  takeNotices(): readonly Notice[] {
    return this.#behind.takeNotices();
  }

  /** The next assignment, or nothing when nothing that is ready fits what is free. */
  next(now: Instant): Assignment | undefined {
    this.#undelay(now);
    this.#chooser.refill = undefined;
    this.#wakeBehind(this.#reserved.dropIdle(now), now);
    if (this.idle === 0 || this.out >= this.allowed) return undefined;
    const shadow = this.#reserved.shadow(now);
    const found = new Map<Priority, Candidate>();
    const lane = this.#lanes.pick((each) => {
      if (this.defers(each, now)) return false;
      const candidate = this.#chooser.best(each, shadow, now);
      if (candidate !== undefined) found.set(each, candidate);
      return candidate !== undefined;
    });
    const candidate = lane === undefined ? undefined : found.get(lane);
    const spot = candidate && this.#spotFor(candidate, shadow, now);
    this.#reserved.settle();
    if (lane === undefined || candidate === undefined) return undefined;
    const { run, task, status, rank } = candidate;
    const worker = spot?.node.next(task.lostBy);
    invariant(worker !== undefined, "a task that was chosen has a place to go");
    this.#given.add(lane);
    return { run, task, worker, evidence: { lane, rank: Math.round(rank), waitedMs: between(status.since, now) } };
  }

  #spotFor(candidate: Candidate, shadow: Shadow | undefined, now: Instant): Spot | undefined {
    const { run, task } = candidate;
    const affinity = (node: Node): number => this.#site.affinity(run, task, node);
    return bestSpot(this.#reserved.spotsFor(candidate, shadow, now), { affinity, avoided: task.lostBy }, now);
  }

  /** The next moment at which something may go that cannot now: a back-off, a rate or a breaker. */
  nextWake(now: Instant): Instant | undefined {
    return earliest(this.#delayed.peek()?.status.notBefore, this.#chooser.refill, this.#breakers.nextTrial(now));
  }

  /** Whether some ready task of the run could go now or later by itself. */
  canMove(run: Run): boolean {
    for (const candidate of this.#candidates.values()) {
      if (candidate.run === run && this.isPossible(candidate.shape)) return true;
    }
    return false;
  }

  /** Whether there is anything that could ever take a task of this shape. */
  isPossible({ spots, own }: Shape): boolean {
    return spots.length > 0 && own.every(({ pot, amount }) => amount <= pot.capacity);
  }

  /** Capabilities that no node has all of. */
  missing(requires: readonly string[]): readonly string[] {
    return this.#site.missing(requires);
  }

  shapeOf(run: Run, task: Task): Shape {
    const place = this.#places.get(run.no);
    invariant(place !== undefined, "the run was admitted");
    return place.shapes.of(task.spec);
  }

  /** Whose files stand in the way: those of a task that is out, or of one for which they are reserved. */
  hazard(run: Run, task: Task, now: Instant): Hazard | undefined {
    return this.#locks.conflict(run, task) ?? this.#reserved.hazard(run, task, now);
  }

  rank(run: Run, task: Task): number {
    return this.#places.get(run.no)?.ranks[task.no] ?? 0;
  }

  estimates(run: Run): Estimates | undefined {
    return this.#places.get(run.no)?.estimates;
  }

  /** Orders the run by other ranks from now on. */
  rerank(run: Run, ranks: Float64Array): void {
    const place = this.#places.get(run.no);
    if (place === undefined) return;
    place.ranks = ranks;
    place.queue.rerank(({ no }) => ranks[no] ?? 0);
  }

  /** The run, where there is only one. */
  get soleRun(): Run | undefined {
    const [first, second] = this.#places.values();
    return second === undefined ? first?.run : undefined;
  }

  /** What of the run could go if there were room for it, in no particular order. */
  waiting(run: Run): Iterable<Candidate> {
    return this.#places.get(run.no)?.queue.values() ?? [];
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

  /** How many may be out at once, under this pressure. */
  get allowed(): number {
    return workersAllowed(this.mode, this.workers);
  }

  /** How many are out. */
  get out(): number {
    return this.#site.out;
  }

  /** Whether the lane has to wait for better times. Not when nothing else is left to do: a queue that stands still never empties. */
  defers(lane: Priority, now: Instant): boolean {
    const { dispatches } = PRESSURE_POLICY[this.mode];
    if (dispatches.includes(lane)) return false;
    if (this.out > 0) return true;
    for (const { queue } of this.#places.values()) if (dispatches.some((each) => !queue.isEmpty(each))) return true;
    return this.#delayed.values().some((each) => each.status.notBefore <= now && dispatches.includes(each.lane));
  }

  get nodes(): readonly Node[] {
    return this.#site.nodes;
  }

  get breakers(): Pick<Breakers, "of" | "admits" | "recall"> {
    return this.#breakers;
  }

  /** For whom room is kept, and what that means for others. */
  get reservation(): Pick<Reserved, "current" | "binds" | "shadow"> {
    return this.#reserved;
  }

  /** When a task that went then would be back; never, as far as anybody knows, when that is not known. */
  until(run: Run, task: Task, since: Instant): Instant {
    const estimates = this.#places.get(run.no)?.estimates;
    return estimates?.known ? later(since, millis(estimates.costs[task.no] as number)) : NEVER;
  }

  /** Every task that is out now, of every run. */
  held(): Iterable<Holding> {
    return this.#site.held();
  }

  pots(): Iterable<Pot> {
    return this.#site.pots();
  }

  #isHeldBack({ shape, lane }: Candidate, now: Instant): boolean {
    return this.defers(lane, now) || (shape.provider !== undefined && !this.#breakers.admits(shape.provider, now));
  }

  #enter(run: Run, task: Task, status: Ready, now: Instant): Candidate | undefined {
    const place = this.#places.get(run.no);
    if (place === undefined) return undefined;
    const lane = laneOf(task);
    const rank = place.ranks[task.no] ?? 0;
    const shape = place.shapes.of(task.spec);
    const entered = this.#given.above(lane, status.notBefore > now ? status.notBefore : now);
    const candidate: Candidate = { run, task, status, shape, lane, rank, place: -1, entered, passedSince: undefined };
    this.#candidates.set(task, candidate);
    // What nobody can do stands in nobody's way.
    if (!this.isPossible(shape)) return candidate;
    if (status.notBefore > now) this.#delayed.push(candidate);
    else this.#line(candidate, now);
    return candidate;
  }

  #line(candidate: Candidate, now: Instant): void {
    this.#fairness.queue(candidate.run, candidate.lane, now);
    this.#lines.add(candidate);
    this.#places.get(candidate.run.no)?.queue.add(candidate);
  }

  #leave(task: Task, now: Instant): void {
    const candidate = this.#candidates.get(task);
    if (candidate === undefined) return;
    this.#candidates.delete(task);
    if (this.#reserved.is(candidate)) this.#wakeBehind(this.#reserved.drop(), now);
    if (!this.isPossible(candidate.shape)) return;
    if (this.#delayed.values()[candidate.place] === candidate) return this.#delayed.remove(candidate);
    this.#fairness.unqueue(candidate.run, candidate.lane);
    this.#places.get(candidate.run.no)?.queue.remove(candidate);
  }

  #seize(run: Run, task: Task, { to, cause }: Change): void {
    if (!isHeld(to)) return;
    const { own } = this.shapeOf(run, task);
    invariant(fits(own, cause.at), `${task.spec.id} fits what is free`);
    const lane = cause.kind === "claimed" ? cause.evidence.lane : laneOf(task);
    this.#occupy(run, task, to.lease.worker, lane, cause.at);
  }

  #occupy(run: Run, task: Task, worker: WorkerId, lane: Priority, since: Instant): void {
    const shape = this.shapeOf(run, task);
    this.#site.occupy({ run, task, shape, lane, worker, since });
    this.#locks.hold(run, task);
    this.#fairness.start(run, { lane, own: task.spec.priority }, shape.share, since);
    if (shape.provider !== undefined) this.#breakers.sent(shape.provider, task, since);
  }

  #yield(task: Task, { cause, to }: Change): void {
    const holding = this.#site.release(task, to.state === "succeeded");
    if (holding === undefined) return;
    const { run, shape, lane, since } = holding;
    const ways = { lane, own: task.spec.priority };
    this.#fairness.end(run, ways, shape.share, between(since, cause.at), cause.at);
    if (shape.provider !== undefined) this.#breakers.returned(shape.provider, task, cause);
    this.#locks.release(task);
    this.#wakeBehind(task, cause.at);
  }

  #wakeBehind(holder: Task | undefined, now: Instant): void {
    if (holder === undefined) return;
    for (const candidate of this.#behind.release(holder, this.#waits, now)) {
      this.#places.get(candidate.run.no)?.queue.add(candidate);
    }
  }

  readonly #waits = (candidate: Candidate): boolean => this.#candidates.get(candidate.task) === candidate;

  #undelay(now: Instant): void {
    for (let top = this.#delayed.peek(); top !== undefined && top.status.notBefore <= now; top = this.#delayed.peek()) {
      this.#delayed.pop();
      this.#line(top, now);
    }
  }
}

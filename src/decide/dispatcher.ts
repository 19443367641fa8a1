/** Which ready task goes next, and to which worker. Follows the changes of the World; the same changes always give the same choices. */
import type { DispatchEvidence, Event, TaskNews } from "../domain/event.ts";
import { type History, NO_HISTORY } from "../domain/history.ts";
import type { WorkerId } from "../domain/ids.ts";
import type { Run, RunNo } from "../domain/run.ts";
import type { Priority } from "../domain/spec.ts";
import { PRIORITIES } from "../domain/spec.ts";
import { isHeld, laneOf, type Ready, type Task } from "../domain/task.ts";
import { between, earliest, type Instant, later, millis } from "../domain/time.ts";
import type { Change } from "../domain/world.ts";
import { Heap } from "../std/heap.ts";
import { invariant } from "../std/invariant.ts";
import { isOverdue, laneAbove, PATIENCE, type Patience, Tally, WaitingLines } from "./aging.ts";
import { Breakers } from "./breakers.ts";
import { type Estimates, estimate } from "./estimates.ts";
import { Fairness } from "./fairness.ts";
import { type LanePolicy, Lanes } from "./lanes.ts";
import { type Hazard, Locks } from "./locks.ts";
import { bestSpot, canTake, Node, type NodeSpec, type Spot } from "./nodes.ts";
import { NO_PRESSURE, PRESSURE_POLICY, type Pressure, type PressureMode, workersAllowed } from "./pressure.ts";
import { type Candidate, type Mark, RunQueue } from "./queue.ts";
import { upwardRanks } from "./rank.ts";
import { mayPass, NEVER, type Shadow, shadowOf } from "./reservation.ts";
import { fits, giveBack, type Pot, Room, refilledAt, take } from "./room.ts";
import { ownPot, type Shape, Shapes, usesOf, wholeDraw } from "./shapes.ts";

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

/** Something the dispatcher noticed that belongs into the ledger. */
export interface Notice {
  readonly run: Run;
  readonly task: Task;
  readonly news: TaskNews;
}

/** What the dispatcher keeps about a run. */
interface RunPlace {
  readonly run: Run;
  readonly queue: RunQueue;
  readonly shapes: Shapes;
  readonly estimates: Estimates;
  ranks: Float64Array;
}

/** The best of a run, and who would have come before it but did not fit. */
interface Choice {
  readonly best: Candidate | undefined;
  readonly passed: Candidate | undefined;
}
/** A run whose turn it was, and which could not go. */
interface Skipped {
  readonly no: RunNo;
  readonly passed: Candidate | undefined;
}

/** A task that is out: where, and what it took. */
interface Holding {
  readonly run: Run;
  readonly task: Task;
  readonly shape: Shape;
  readonly lane: Priority;
  readonly worker: WorkerId;
  readonly spot: Spot;
  readonly since: Instant;
}

export class Dispatcher {
  readonly #patience: Patience;
  readonly #nodes: readonly Node[];
  /** What plans declare for themselves. */
  readonly #shared = new Room({});
  readonly #lanes: Lanes;
  readonly #fairness = new Fairness();
  readonly #locks = new Locks();
  readonly #breakers = new Breakers();
  readonly #lines = new WaitingLines();
  readonly #places = new Map<RunNo, RunPlace>();
  readonly #candidates = new Map<Task, Candidate>();
  readonly #held = new Map<Task, Holding>();
  /** Backing off: ready, but not yet. */
  readonly #delayed = new Heap<Candidate>((a, b) => a.status.notBefore < b.status.notBefore);
  /** Behind somebody's files: looked at again when that task is done. */
  readonly #behind = new Map<
    Task,
    { readonly candidate: Candidate; readonly since: Instant; readonly inverted: boolean }[]
  >();
  /** Where tasks have been done, for those that use what they made. Kept only when there is more than one place. */
  readonly #madeOn = new Map<Task, Node>();
  #reserved: Candidate | undefined;
  #notices: Notice[] = [];
  readonly #given = new Tally();
  #pressure: Pressure = NO_PRESSURE;
  #refill: Instant | undefined;

  constructor(options: DispatcherOptions) {
    this.#patience = options.patience ?? PATIENCE;
    this.#lanes = new Lanes(options.priorities ?? "shares");
    this.#nodes = [{ name: "local", ...options }, ...(options.others ?? [])].map((spec) => new Node(spec));
  }

  /** Takes a run up: its tasks as they are now, and what earlier runs have shown of them. */
  admit(run: Run, history: History = NO_HISTORY): void {
    const { resources, rates = {}, submittedAt } = run.manifest;
    for (const [name, amount] of Object.entries(resources)) this.#shared.add(ownPot(run, name), amount);
    for (const [name, rate] of Object.entries(rates)) {
      this.#shared.addRate(ownPot(run, name), rate, submittedAt, usesOf(run, name));
    }
    const specs = run.tasks.map(({ spec }) => spec);
    const estimates = estimate(specs, ({ id }) => history.durations.get(id), history.error);
    const ranks = upwardRanks(run.graph, estimates.costs);
    const shapes = new Shapes(run, this.#shared, this.#nodes);
    this.#places.set(run.no, { run, queue: new RunQueue(), shapes, estimates, ranks });
    this.#fairness.join(run);
    this.#lines.join(run.no);
    for (const task of run.tasks) {
      const { status } = task;
      if (status.state === "ready") this.#enter(run, task, status, status.since);
      if (isHeld(status)) this.#occupy(run, task, status.lease.worker, laneOf(task), status.since);
    }
  }

  /** Learns from the ledger how the services did that the run depends on. To be called before the run is taken up. */
  recall(run: Run, events: readonly Event[]): void {
    this.#breakers.recall(run, events);
  }

  /** Lets go of a run that has ended. */
  dismiss(run: Run): void {
    const { resources, rates = {} } = run.manifest;
    this.#places.delete(run.no);
    this.#fairness.leave(run);
    this.#lines.leave(run.no);
    for (const name of [...Object.keys(resources), ...Object.keys(rates)]) this.#shared.remove(ownPot(run, name));
    if (this.#madeOn.size > 0) for (const task of run.tasks) this.#madeOn.delete(task);
  }

  knows(run: Run): boolean {
    return this.#places.has(run.no);
  }

  observe({ run, task, from, to, cause }: Change): void {
    if (!this.knows(run)) return;
    const before = this.#candidates.get(task);
    if (from.state === "ready") this.#leave(task, cause.at);
    if (isHeld(from) && !isHeld(to)) this.#yield(task, { run, task, from, to, cause });
    if (!isHeld(from) && isHeld(to)) this.#seize(run, task, { run, task, from, to, cause });
    if (to.state === "ready") this.#enter(run, task, to, cause.at, from.state === "ready" ? before?.passedSince : undefined);
  }

  /** How full the queue is changes how many go out at once, and which. */
  set pressure(pressure: Pressure) {
    this.#pressure = pressure;
  }

  /** Those who have waited too long move up. To be asked for before each round of `next`. */
  age(now: Instant): readonly Notice[] {
    const waits = (candidate: Candidate): boolean => this.#candidates.get(candidate.task) === candidate;
    const markOf = (lane: Priority): Mark => this.#given.above(lane, now);
    return this.#lines.overdue(waits, markOf, this.#patience).map(({ run, task, lane, status }) => ({
      run,
      task,
      news: { kind: "aged_boost", from: lane, to: laneAbove(lane), waitedMs: between(status.since, now) },
    }));
  }

  /** What was noticed since the last time. */
  takeNotices(): readonly Notice[] {
    const notices = this.#notices;
    this.#notices = [];
    return notices;
  }

  /** The next assignment, or nothing when nothing that is ready fits what is free. */
  next(now: Instant): Assignment | undefined {
    this.#undelay(now);
    this.#refill = undefined;
    if (this.#reserved !== undefined && this.#reservation(now) === undefined) this.#unreserve(now);
    if (this.idle === 0 || this.#held.size >= this.allowed) return undefined;
    const shadow = this.shadow(now);
    const found = new Map<Priority, Candidate>();
    const lane = this.#lanes.pick((each) => {
      if (this.defers(each)) return false;
      const candidate = this.#best(each, shadow, now);
      if (candidate !== undefined) found.set(each, candidate);
      return candidate !== undefined;
    });
    if (lane === undefined) return undefined;
    this.#given.add(lane);
    const candidate = found.get(lane) as Candidate;
    const { run, task, status, rank } = candidate;
    const spots = this.#spotsFor(candidate, shadow, now);
    const spot = bestSpot(
      spots,
      { affinity: (node) => this.#affinity(run, task, node), avoided: task.lostBy },
      now,
    );
    const worker = spot?.node.next(task.lostBy);
    invariant(worker !== undefined, "a task that was chosen has a place to go");
    return { run, task, worker, evidence: { lane, rank, waitedMs: between(status.since, now) } };
  }

  /** The next moment at which something may go that cannot now: a back-off, a rate or a breaker. */
  nextWake(now: Instant): Instant | undefined {
    return earliest(this.#delayed.peek()?.status.notBefore, this.#refill, this.#breakers.nextTrial(now));
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
    const missing = this.#nodes.map(({ capabilities }) =>
      requires.filter((capability) => !capabilities.has(capability)),
    );
    return missing.reduce((least, each) => (each.length < least.length ? each : least));
  }

  shapeOf(run: Run, task: Task): Shape {
    const place = this.#places.get(run.no);
    invariant(place !== undefined, "the run was admitted");
    return place.shapes.of(task.spec);
  }

  /** Whose files stand in the way: those of a task that is out, or of one for which they are reserved. */
  hazard(run: Run, task: Task, now: Instant): Hazard | undefined {
    const conflict = this.#locks.conflict(run, task);
    const reserved = this.#reservation(now);
    if (conflict !== undefined || reserved === undefined || reserved.task === task) return conflict;
    if (!this.binds(laneOf(task), now)) return undefined;
    return this.#locks.between(run, task, reserved.run, reserved.task);
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
    return this.#nodes.reduce((sum, node) => sum + node.idle, 0);
  }

  get workers(): number {
    return this.#nodes.reduce((sum, node) => sum + node.workers.size, 0);
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
    return this.#held.size;
  }

  /** Whether the lane has to wait for better times. Not when nothing else is left to do: a queue that stands still never empties. */
  defers(lane: Priority): boolean {
    const { dispatches } = PRESSURE_POLICY[this.mode];
    if (dispatches.includes(lane)) return false;
    if (this.#held.size > 0) return true;
    for (const { queue } of this.#places.values()) if (dispatches.some((each) => !queue.isEmpty(each))) return true;
    return false;
  }

  get nodes(): readonly Node[] {
    return this.#nodes;
  }

  get breakers(): Pick<Breakers, "of" | "admits"> {
    return this.#breakers;
  }

  /** Whom everybody else may not delay, if anybody. */
  reserved(now: Instant): { readonly run: Run; readonly task: Task } | undefined {
    return this.#reservation(now);
  }

  /** Whether the reservation holds for this lane. More urgent work goes first, until the reserved task has lost all patience. */
  binds(lane: Priority, now: Instant): boolean {
    const reserved = this.#reservation(now);
    if (reserved === undefined) return false;
    if (!isBelow(reserved.lane, lane)) return true;
    return reserved.passedSince !== undefined && isOverdue(reserved.passedSince, this.#given.all(now), this.#patience);
  }

  /** When the reserved task can start, and what is left over then. While it waits for files, only those are kept for it. */
  shadow(now: Instant): Shadow | undefined {
    const reserved = this.#reservation(now);
    if (reserved === undefined || this.#locks.conflict(reserved.run, reserved.task) !== undefined) return undefined;
    const out = Array.from(this.#held.values(), ({ run, task, shape, spot, since }) => {
      const until = this.#until(run, task, since);
      return { until: until > now ? until : NEVER, draws: wholeDraw(shape, spot) };
    });
    return shadowOf(reserved, out, now);
  }

  /** When the task would be back if it went now; never, as far as anybody knows, when that is not known. */
  until(run: Run, task: Task, now: Instant): Instant {
    return this.#until(run, task, now);
  }

  /** Every task that is out now, of every run. */
  held(): Iterable<Pick<Holding, "run" | "task" | "shape" | "spot">> {
    return this.#held.values();
  }

  *pots(): Iterable<Pot> {
    for (const { room } of this.#nodes) yield* room.pots();
    yield* this.#shared.pots();
  }

  /** The best of a lane over all runs, those first who have had the least. */
  #best(lane: Priority, shadow: Shadow | undefined, now: Instant): Candidate | undefined {
    const skipped: Skipped[] = [];
    for (const no of this.#fairness.order(lane, now)) {
      const { best, passed } = this.#bestOfRun(this.#places.get(no) as RunPlace, lane, shadow, now);
      if (best === undefined) skipped.push({ no, passed });
      else {
        if (this.#reserved === undefined) for (const each of skipped) this.#judgeSkipped(each, best, now);
        return best;
      }
    }
    return undefined;
  }

  /** Who cannot go because of what others have taken keeps their turn, and is kept room for; who stands in their own way does not. */
  #judgeSkipped({ no, passed }: Skipped, { run, lane }: Candidate, now: Instant): void {
    if (passed === undefined || !fits(passed.shape.own, now) || this.#isHeldBack(passed, now)) {
      this.#fairness.forfeit(no, run.no, lane, now);
    } else if (this.#fairness.isOwed(no, run.no, lane, passed.shape.share, now)) this.#reserved ??= passed;
  }

  /** What stands behind somebody's files is put aside until they are done. */
  #bestOfRun(place: RunPlace, lane: Priority, shadow: Shadow | undefined, now: Instant): Choice {
    const passes =
      shadow === undefined
        ? undefined
        : (candidate: Candidate): boolean => this.#spotsFor(candidate, shadow, now).length > 0;
    for (;;) {
      const { best, passed } = place.queue.best(lane, (first) => this.#fits(first, now), passes);
      const hazard = best && this.hazard(best.run, best.task, now);
      if (best === undefined || hazard === undefined) {
        if (passed !== undefined) this.#passOver(passed, now);
        return { best, passed };
      }
      place.queue.remove(best);
      this.#standBehind(best, hazard, now);
      this.#passOver(best, now);
    }
  }

  #fits({ shape }: Candidate, now: Instant): boolean {
    if (shape.provider !== undefined && !this.#breakers.admits(shape.provider, now)) return false;
    if (!fits(shape.own, now)) {
      const at = refilledAt(shape.own, now);
      if (at !== undefined && (this.#refill === undefined || at < this.#refill)) this.#refill = at;
      return false;
    }
    return shape.spots.some((spot) => canTake(spot, now));
  }

  /** Where it could go now without making the reserved one wait. */
  #spotsFor(candidate: Candidate, shadow: Shadow | undefined, now: Instant): readonly Spot[] {
    const { run, task, shape } = candidate;
    if (shadow === undefined || candidate === this.#reserved || !this.binds(candidate.lane, now)) return shape.spots;
    const until = this.#until(run, task, now);
    return shape.spots.filter((spot) => canTake(spot, now) && mayPass(wholeDraw(shape, spot), until, shadow));
  }

  /** Who was passed over past all patience is not to be delayed any more. */
  #passOver(passed: Candidate, now: Instant): void {
    if (this.#isHeldBack(passed, now)) return;
    const mark = this.#given.all(now);
    passed.passedSince ??= mark;
    if (this.#reserved === undefined && isOverdue(passed.passedSince, mark, this.#patience)) this.#reserved = passed;
  }

  /** The reservation, as long as it is of use: what waits for a service or for better times keeps nothing from others. */
  #reservation(now: Instant): Candidate | undefined {
    return this.#reserved === undefined || this.#isHeldBack(this.#reserved, now) ? undefined : this.#reserved;
  }

  #isHeldBack({ shape, lane }: Candidate, now: Instant): boolean {
    return this.defers(lane) || (shape.provider !== undefined && !this.#breakers.admits(shape.provider, now));
  }

  #unreserve(now: Instant): void {
    const task = this.#reserved?.task;
    this.#reserved = undefined;
    if (task !== undefined) this.#wakeBehind(task, now);
  }

  #until(run: Run, task: Task, since: Instant): Instant {
    const estimates = this.#places.get(run.no)?.estimates;
    return estimates?.known ? later(since, millis(estimates.costs[task.no] as number)) : NEVER;
  }

  #standBehind(candidate: Candidate, { holder }: Hazard, now: Instant): void {
    const holding = this.#held.get(holder);
    const inverted = holding !== undefined && holding.run === candidate.run && isBelow(holding.lane, candidate.lane);
    const behind = this.#behind.get(holder) ?? [];
    behind.push({ candidate, since: now, inverted });
    this.#behind.set(holder, behind);
    if (!inverted || !isBelow(laneOf(holder), candidate.lane)) return;
    const news = { kind: "priority_inherited", to: candidate.lane, by: candidate.task.no } as const;
    this.#notices.push({ run: candidate.run, task: holder, news });
  }

  #enter(run: Run, task: Task, status: Ready, now: Instant, passedSince?: Mark): void {
    const place = this.#places.get(run.no);
    if (place === undefined) return;
    const lane = laneOf(task);
    const rank = place.ranks[task.no] ?? 0;
    const shape = place.shapes.of(task.spec);
    const entered = this.#given.above(lane, status.notBefore > now ? status.notBefore : now);
    const candidate: Candidate = { run, task, status, shape, lane, rank, place: -1, entered, passedSince };
    this.#candidates.set(task, candidate);
    // What nobody can do stands in nobody's way.
    if (!this.isPossible(shape)) return;
    if (status.notBefore > now) this.#delayed.push(candidate);
    else this.#line(candidate, now);
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
    if (this.#reserved === candidate) this.#unreserve(now);
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

  /** What is out already stays out, even if there is less to give now than when it was claimed. */
  #occupy(run: Run, task: Task, worker: WorkerId, lane: Priority, now: Instant): void {
    const shape = this.shapeOf(run, task);
    const node = this.#nodes.find(({ workers }) => workers.has(worker)) ?? (this.#nodes[0] as Node);
    const spot = shape.spots.find((each) => each.node === node) ?? { node, draws: [] };
    node.occupy(worker, spot.draws, now);
    take(shape.own, now);
    this.#held.set(task, { run, task, shape, lane, worker, spot, since: now });
    this.#locks.hold(run, task);
    this.#fairness.start(run, { lane, own: task.spec.priority }, shape.share, now);
    if (shape.provider !== undefined) this.#breakers.sent(shape.provider, task, now);
  }

  #yield(task: Task, { cause, to }: Change): void {
    const holding = this.#held.get(task);
    if (holding === undefined) return;
    const { run, shape, lane, worker, spot, since } = holding;
    this.#held.delete(task);
    spot.node.release(worker, spot.draws);
    giveBack(shape.own);
    const ways = { lane, own: task.spec.priority };
    this.#fairness.end(run, ways, shape.share, between(since, cause.at), cause.at);
    if (shape.provider !== undefined) this.#breakers.returned(shape.provider, task, cause);
    if (to.state === "succeeded" && this.#nodes.length > 1) this.#madeOn.set(task, spot.node);
    this.#locks.release(task);
    this.#wakeBehind(task, cause.at);
  }

  #wakeBehind(holder: Task, now: Instant): void {
    for (const { candidate, since, inverted } of this.#behind.get(holder) ?? []) {
      if (this.#candidates.get(candidate.task) !== candidate) continue;
      this.#places.get(candidate.run.no)?.queue.add(candidate);
      const { run, task } = candidate;
      const news = { kind: "priority_inversion", holder: holder.no, forMs: between(since, now) } as const;
      if (inverted) this.#notices.push({ run, task, news });
    }
    this.#behind.delete(holder);
  }

  #affinity(run: Run, task: Task, node: Node): number {
    let near = 0;
    run.graph.eachNeed(task.no, (need) => {
      if (this.#madeOn.get(run.tasks[need] as Task) === node) near++;
    });
    return near;
  }

  #undelay(now: Instant): void {
    for (let top = this.#delayed.peek(); top !== undefined && top.status.notBefore <= now; top = this.#delayed.peek()) {
      this.#delayed.pop();
      this.#line(top, now);
    }
  }
}

const isBelow = (lane: Priority, other: Priority): boolean => PRIORITIES.indexOf(lane) > PRIORITIES.indexOf(other);

/** Which ready task goes next, and to which worker. Follows the changes of the World; the same changes always give the same choices. */
import type { DispatchEvidence } from "../domain/event.ts";
import type { WorkerId } from "../domain/ids.ts";
import type { Run, RunNo } from "../domain/run.ts";
import type { Amounts, Priority } from "../domain/spec.ts";
import { isHeld, type Ready, type Task } from "../domain/task.ts";
import { between, type Instant } from "../domain/time.ts";
import type { Change } from "../domain/world.ts";
import { Heap } from "../std/heap.ts";
import { invariant } from "../std/invariant.ts";
import { Lanes } from "./lanes.ts";
import { type Hazard, Locks } from "./locks.ts";
import { type Candidate, RunQueue, type Shape } from "./queue.ts";
import { planCosts, upwardRanks } from "./rank.ts";
import { fits, giveBack, type Pot, Room, take } from "./room.ts";

export interface DispatcherOptions {
  /** The slots to give work to. */
  readonly workers: readonly WorkerId[];
  /** What the machine has: `cpu` in thousandths of a core, `memory` in bytes, and whatever else is counted. */
  readonly capacity: Amounts;
  /** What the workers can do. */
  readonly capabilities: readonly string[];
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
  readonly ranks: Float64Array;
  readonly shapes: Map<string, Shape>;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #room: Room;
  readonly #lanes = new Lanes();
  readonly #locks = new Locks();
  readonly #places = new Map<RunNo, RunPlace>();
  readonly #workers: ReadonlySet<WorkerId>;
  readonly #idle: WorkerId[];
  /** How many tasks a worker has: more than one only while several runs are taken up again one after the other. */
  readonly #load = new Map<WorkerId, number>();
  readonly #candidates = new Map<Task, Candidate>();
  /** Backing off: ready, but not yet. */
  readonly #delayed = new Heap<Candidate>((a, b) => a.status.notBefore < b.status.notBefore);
  /** Behind somebody's files: looked at again when that task is done. */
  readonly #behind = new Map<Task, Candidate[]>();

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#room = new Room(options.capacity);
    this.#workers = new Set(options.workers);
    this.#idle = [...options.workers].reverse();
  }

  /** Takes a run up: its tasks as they are now. */
  admit(run: Run): void {
    for (const [name, amount] of Object.entries(run.manifest.resources)) this.#room.add(ownPot(run, name), amount);
    const ranks = upwardRanks(run.graph, planCosts(run.tasks.map(({ spec }) => spec)));
    this.#places.set(run.no, { run, queue: new RunQueue(), ranks, shapes: new Map() });
    for (const task of run.tasks) {
      if (task.status.state === "ready") this.#enter(run, task, task.status);
      if (isHeld(task.status)) this.#occupy(run, task, task.status.lease.worker);
    }
  }

  /** Lets go of a run that has ended. */
  dismiss(run: Run): void {
    this.#places.delete(run.no);
  }

  knows(run: Run): boolean {
    return this.#places.has(run.no);
  }

  observe({ run, task, from, to }: Change): void {
    if (!this.knows(run)) return;
    if (from.state === "ready") this.#leave(task);
    if (isHeld(from) && !isHeld(to)) this.#yield(run, task, from.lease.worker);
    if (!isHeld(from) && isHeld(to)) this.#seize(run, task, to.lease.worker);
    if (to.state === "ready") this.#enter(run, task, to);
  }

  /** The next assignment, or nothing when nothing that is ready fits what is free. */
  next(now: Instant): Assignment | undefined {
    this.#undelay(now);
    const worker = this.#idle.at(-1);
    if (worker === undefined) return undefined;
    const found: Partial<Record<Priority, Candidate>> = {};
    const lane = this.#lanes.pick((lane) => {
      const candidate = this.#best(lane);
      if (candidate !== undefined) found[lane] = candidate;
      return candidate !== undefined;
    });
    if (lane === undefined) return undefined;
    const { run, task, status, rank } = found[lane] as Candidate;
    return { run, task, worker, evidence: { lane, rank, waitedMs: between(status.since, now) } };
  }

  /** The next moment at which something that backs off may go. */
  nextWake(): Instant | undefined {
    return this.#delayed.peek()?.status.notBefore;
  }

  /** Whether some ready task of the run could go now or later by itself. */
  canMove(run: Run): boolean {
    for (const candidate of this.#candidates.values()) {
      if (candidate.run === run && this.isPossible(candidate.shape)) return true;
    }
    return false;
  }

  /** Whether there is anything that could ever take a task of this shape. */
  isPossible(shape: Shape): boolean {
    return (
      this.#workers.size > 0 &&
      shape.draws.every(({ pot, amount }) => amount <= pot.capacity) &&
      this.missing(shape.requires).length === 0
    );
  }

  /** Capabilities that no worker has. */
  missing(requires: readonly string[]): readonly string[] {
    return requires.filter((capability) => !this.#options.capabilities.includes(capability));
  }

  shapeOf(run: Run, task: Task): Shape {
    const place = this.#places.get(run.no);
    invariant(place !== undefined, "the run was admitted");
    return shapeIn(place, task, this.#room);
  }

  hazard(run: Run, task: Task): Hazard | undefined {
    return this.#locks.conflict(run, task);
  }

  rank(run: Run, task: Task): number {
    return this.#places.get(run.no)?.ranks[task.no] ?? 0;
  }

  get idle(): number {
    return this.#idle.length;
  }

  get workers(): number {
    return this.#workers.size;
  }

  /** Every task that is out now, of every run. */
  *held(): Iterable<{ readonly run: Run; readonly task: Task }> {
    for (const { run } of this.#places.values()) {
      for (const task of run.tasks) if (isHeld(task.status)) yield { run, task };
    }
  }

  pots(): Iterable<Pot> {
    return this.#room.pots();
  }

  /** The best of a lane over all runs. What stands behind somebody's files is put aside until they are done. */
  #best(lane: Priority): Candidate | undefined {
    for (const place of this.#places.values()) {
      for (let found = place.queue.best(lane); found !== undefined; found = place.queue.best(lane)) {
        const hazard = this.#locks.conflict(found.run, found.task);
        if (hazard === undefined) return found;
        place.queue.remove(found);
        const behind = this.#behind.get(hazard.holder) ?? [];
        behind.push(found);
        this.#behind.set(hazard.holder, behind);
      }
    }
    return undefined;
  }

  #enter(run: Run, task: Task, status: Ready): void {
    const place = this.#places.get(run.no);
    if (place === undefined) return;
    const shape = shapeIn(place, task, this.#room);
    const rank = place.ranks[task.no] ?? 0;
    const candidate: Candidate = { run, task, status, shape, rank, place: -1 };
    this.#candidates.set(task, candidate);
    // What nobody can do stands in nobody's way.
    if (this.missing(shape.requires).length > 0) return;
    if (status.notBefore > status.since) this.#delayed.push(candidate);
    else place.queue.add(candidate);
  }

  #leave(task: Task): void {
    const candidate = this.#candidates.get(task);
    if (candidate === undefined) return;
    this.#candidates.delete(task);
    if (this.#delayed.values()[candidate.place] === candidate) this.#delayed.remove(candidate);
    else this.#places.get(candidate.run.no)?.queue.remove(candidate);
  }

  #seize(run: Run, task: Task, worker: WorkerId): void {
    invariant(fits(this.shapeOf(run, task).draws), `${task.spec.id} fits what is free`);
    this.#occupy(run, task, worker);
  }

  /** What is out already stays out, even if there is less to give now than when it was claimed. */
  #occupy(run: Run, task: Task, worker: WorkerId): void {
    this.#load.set(worker, (this.#load.get(worker) ?? 0) + 1);
    const slot = this.#idle.lastIndexOf(worker);
    if (slot >= 0) this.#idle.splice(slot, 1);
    take(this.shapeOf(run, task).draws);
    this.#locks.hold(run, task);
  }

  #yield(run: Run, task: Task, worker: WorkerId): void {
    const left = (this.#load.get(worker) ?? 1) - 1;
    this.#load.set(worker, left);
    if (left === 0 && this.#workers.has(worker)) this.#idle.push(worker);
    giveBack(this.shapeOf(run, task).draws);
    this.#locks.release(task);
    for (const candidate of this.#behind.get(task) ?? []) {
      if (this.#candidates.get(candidate.task) === candidate) this.#places.get(candidate.run.no)?.queue.add(candidate);
    }
    this.#behind.delete(task);
  }

  #undelay(now: Instant): void {
    for (let top = this.#delayed.peek(); top !== undefined && top.status.notBefore <= now; top = this.#delayed.peek()) {
      this.#delayed.pop();
      this.#places.get(top.run.no)?.queue.add(top);
    }
  }
}

/** What a plan declares is its own; what the machine has is everybody's. A request counts against both. */
const ownPot = (run: Run, name: string): string => `${run.no}:${name}`;

function shapeIn(place: RunPlace, { spec }: Task, room: Room): Shape {
  const key = shapeKey(spec.resources, spec.requires);
  let shape = place.shapes.get(key);
  if (shape === undefined) {
    const draws = Object.entries(spec.resources).flatMap(([name, amount]) =>
      [room.pot(name), room.pot(ownPot(place.run, name))]
        .filter((pot) => pot !== undefined)
        .map((pot) => ({ pot, amount })),
    );
    shape = { key, draws, requires: spec.requires };
    place.shapes.set(key, shape);
  }
  return shape;
}

function shapeKey(resources: Amounts, requires: readonly string[]): string {
  let key = "";
  for (const name in resources) key += `${name}=${resources[name]};`;
  return requires.length === 0 ? key : `${key}|${requires.join(",")}`;
}

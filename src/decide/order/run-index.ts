/** What a dispatcher keeps about each run: its queue, what its tasks ask for, how long they are expected to take, and their order. */
import type { History } from "../../domain/durations/history.ts";
import type { Run, RunNo } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import { type Instant, later, millis } from "../../domain/time.ts";
import { invariant } from "../../std/invariant.ts";
import { type Candidate, RunQueue } from "../queue/queue.ts";
import { NEVER } from "../queue/reservation.ts";
import { type Shape, Shapes } from "../room/shapes.ts";
import type { Site } from "../room/site.ts";
import { type Estimates, estimate } from "./estimates.ts";
import { upwardRanks } from "./rank.ts";
import { firstRanks } from "./schedule-ranks.ts";

/** What the dispatcher keeps about a run. */
export interface RunPlace {
  readonly run: Run;
  readonly queue: RunQueue;
  readonly shapes: Shapes;
  readonly estimates: Estimates;
  ranks: Float64Array;
}

/** A run as it is taken up. `isMixed`: not all of its tasks are done by workers whose number and room is known here. */
export function placeOf(run: Run, history: History, site: Site, isMixed: boolean): RunPlace {
  const specs = run.tasks.map(({ spec }) => spec);
  const estimates = estimate(specs, ({ id }) => history.durations.get(id), history.error);
  const shapes = new Shapes(run, site.shared, site.nodes);
  const ranks = isMixed ? upwardRanks(run.graph, estimates.costs) : firstRanks(run, estimates, shapes, site);
  return { run, queue: new RunQueue(), shapes, estimates, ranks };
}

/** The runs that a dispatcher has, each with what is kept about it. */
export class RunIndex {
  readonly #places = new Map<RunNo, RunPlace>();

  keep(place: RunPlace): void {
    this.#places.set(place.run.no, place);
  }

  drop({ no }: Run): void {
    this.#places.delete(no);
  }

  queueOf(no: RunNo): RunQueue | undefined {
    return this.#places.get(no)?.queue;
  }

  queues(): Iterable<RunQueue> {
    return this.#places.values().map(({ queue }) => queue);
  }

  /** Whether a task waits of a shape that the seeker sees: cheaper than a search in vain. */
  hasFor(sees: (shape: Shape) => boolean): boolean {
    for (const { queue } of this.#places.values()) if (queue.has(sees)) return true;
    return false;
  }

  /** Whether the dispatcher has no run. */
  get isUnused(): boolean {
    return this.#places.size === 0;
  }

  knows(run: Run): boolean {
    return this.#places.has(run.no);
  }

  /** Whether there is a node that could ever take a task of this shape. */
  isPossible({ placements, own }: Shape): boolean {
    return placements.length > 0 && own.every(({ resource, amount }) => amount <= resource.capacity);
  }

  shapeOf(run: Run, task: Task): Shape {
    const place = this.#places.get(run.no);
    invariant(place !== undefined, "the run was admitted");
    return place.shapes.of(task.spec);
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

  /** The tasks of the run that could go if there were room for them, in no particular order. */
  waiting(run: Run): Iterable<Candidate> {
    return this.#places.get(run.no)?.queue.values() ?? [];
  }

  /** When a task that started then would end; never, when its duration is not known. */
  until(run: Run, task: Task, since: Instant): Instant {
    const estimates = this.#places.get(run.no)?.estimates;
    return estimates?.known ? later(since, millis(estimates.costs[task.no] as number)) : NEVER;
  }
}

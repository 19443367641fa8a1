/** What tasks can use, and which task uses how much of it: the nodes, the resources that plans declare, and every held task. */
import type { Event } from "../../domain/event.ts";
import type { WorkerId } from "../../domain/ids.ts";
import type { Run } from "../../domain/run.ts";
import type { Priority } from "../../domain/spec.ts";
import type { Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import { Node, type NodeSpec, type Placement } from "./nodes.ts";
import { giveBack, type Resource, type Room, take } from "./room.ts";
import type { Shape } from "./shapes.ts";
import { afterEnd, ENOUGH, type Shortness } from "./shortness.ts";

/** A held task: where it runs, and what it took. */
export interface Occupancy {
  readonly run: Run;
  readonly task: Task;
  readonly shape: Shape;
  readonly lane: Priority;
  readonly worker: WorkerId;
  readonly placement: Placement;
  readonly since: Instant;
}

export class Site {
  readonly nodes: readonly Node[];
  /** What plans declare for themselves. */
  readonly shared: Room;
  /** Whether the machine has room for more. */
  shortness: Shortness = ENOUGH;
  /** The node for tasks whose worker no node knows. */
  readonly #local: Node;
  readonly #held = new Map<Task, Occupancy>();
  /** Where tasks were done, for the tasks that use their results. Kept only when there is more than one node. */
  readonly #madeOn = new Map<Task, Node>();

  constructor(specs: readonly [NodeSpec, ...NodeSpec[]], shared: Room) {
    const [first, ...others] = specs;
    this.shared = shared;
    this.#local = new Node(first);
    this.nodes = [this.#local, ...others.map((spec) => new Node(spec))];
  }

  leave(run: Run): void {
    if (this.#madeOn.size > 0) for (const task of run.tasks) this.#madeOn.delete(task);
  }

  /** A held task keeps what it took, even if there is less now than when it was claimed. */
  occupy({ run, task, shape, lane, worker, since }: Omit<Occupancy, "placement">): void {
    const node = this.nodeOf(worker);
    const placement = spotOn(shape, node) ?? { node, demands: [] };
    node.occupy(worker, placement.demands, since);
    take(shape.own, since);
    this.#held.set(task, { run, task, shape, lane, worker, placement, since });
  }

  /** Where the worker is. */
  nodeOf(worker: WorkerId): Node {
    for (const node of this.nodes) if (node.workers.has(worker)) return node;
    return this.#local;
  }

  release(task: Task, isDone: boolean): Occupancy | undefined {
    const holding = this.#held.get(task);
    if (holding === undefined) return undefined;
    const { shape, worker, placement } = holding;
    this.#held.delete(task);
    placement.node.release(worker, placement.demands);
    giveBack(shape.own);
    if (isDone && this.nodes.length > 1) this.#madeOn.set(task, placement.node);
    return holding;
  }

  holding(task: Task): Occupancy | undefined {
    return this.#held.get(task);
  }

  /** Every held task of every run. */
  held(): Iterable<Occupancy> {
    return this.#held.values();
  }

  /** How many tasks are held. */
  get out(): number {
    return this.#held.size;
  }

  isIdle(worker: WorkerId): boolean {
    return this.nodes.some((node) => node.isIdle(worker));
  }

  get idle(): number {
    return this.nodes.reduce((sum, node) => sum + node.idle, 0);
  }

  get workers(): number {
    return this.nodes.reduce((sum, node) => sum + node.workers.size, 0);
  }

  /** An attempt has ended, which may say what room the machine has. To be called when it is released. */
  ended(cause: Event): void {
    this.shortness = afterEnd(this.shortness, cause, this.out, this.slots);
  }

  /** How many tasks all workers together do at once. */
  get slots(): number {
    return this.nodes.reduce((sum, node) => sum + node.slots.capacity, 0);
  }

  *resources(): Iterable<Resource> {
    for (const { room } of this.nodes) yield* room.resources();
    yield* this.shared.resources();
  }

  /** The required capabilities that the best node lacks. */
  missing(requires: readonly string[]): readonly string[] {
    const missing = this.nodes.map(({ capabilities }) =>
      requires.filter((capability) => !capabilities.has(capability)),
    );
    return missing.reduce((least, each) => (each.length < least.length ? each : least));
  }

  /** How much of what the task needs was made on the node. */
  affinity(run: Run, task: Task, node: Node): number {
    let near = 0;
    run.graph.eachNeed(task.no, (need) => {
      if (this.#madeOn.get(run.tasks[need] as Task) === node) near++;
    });
    return near;
  }
}

function spotOn({ placements }: Shape, node: Node): Placement | undefined {
  for (const placement of placements) if (placement.node === node) return placement;
  return undefined;
}

/** The machines that work is given to: their workers, what they have, and which of them a task goes to. */
import type { WorkerId } from "../../domain/ids.ts";
import type { Amounts } from "../../domain/spec.ts";
import type { Instant } from "../../domain/time.ts";
import { instant } from "../../domain/time.ts";
import { type Demand, fits, giveBack, type Resource, Room, take } from "./room.ts";

export interface NodeSpec {
  readonly name: string;
  readonly workers: readonly WorkerId[];
  readonly capacity: Amounts;
  readonly capabilities: readonly string[];
  /** Workers come and go, each with capabilities of its own: every task fits such a node, and the roster says which worker may take it. */
  readonly open?: boolean;
}

export class Node {
  readonly name: string;
  readonly room: Room;
  readonly capabilities: ReadonlySet<string>;
  readonly open: boolean;
  readonly #workers: Set<WorkerId>;
  readonly #seats = new Map<WorkerId, Seat>();
  /** Worker slots as something that can run short, like memory. */
  readonly slots: Resource;
  #idle: WorkerId[];

  constructor({ name, workers, capacity, capabilities, open = false }: NodeSpec) {
    this.name = name;
    this.room = new Room(capacity);
    this.capabilities = new Set(capabilities);
    this.open = open;
    this.#workers = new Set(workers);
    this.slots = { name: "workers", capacity: workers.length, free: workers.length, at: instant(0) };
    this.#idle = [...workers].reverse();
    for (const worker of workers) this.#seats.set(worker, { slots: 1, free: 1, load: 0 });
  }

  get workers(): ReadonlySet<WorkerId> {
    return this.#workers;
  }

  get idle(): number {
    return this.#idle.length;
  }

  /** A worker came that does `slots` tasks at once. */
  enrol(worker: WorkerId, slots: number): void {
    if (this.#workers.has(worker)) return;
    this.#workers.add(worker);
    const load = this.#seats.get(worker)?.load ?? 0;
    const free = Math.max(0, slots - load);
    this.#seats.set(worker, { slots, free, load });
    for (let slot = 0; slot < free; slot++) this.#idle.push(worker);
    this.slots.capacity += slots;
    this.slots.free += free;
  }

  /** A worker is gone. Its tasks stay held until they are known to be lost. */
  dismiss(worker: WorkerId): void {
    if (!this.#workers.delete(worker)) return;
    const { slots, free, load } = this.#seatOf(worker);
    this.#idle = this.#idle.filter((each) => each !== worker);
    this.slots.free -= free;
    this.slots.capacity -= slots;
    if (load === 0) this.#seats.delete(worker);
    else this.#seats.set(worker, { slots: 0, free: 0, load });
  }

  isIdle(worker: WorkerId): boolean {
    return (this.#seats.get(worker)?.free ?? 0) > 0;
  }

  /** The worker that would get the next task; another worker than `avoided` if there is one. */
  next(avoided: WorkerId | undefined): WorkerId | undefined {
    const last = this.#idle.at(-1);
    if (last !== avoided || avoided === undefined) return last;
    return this.#idle.at(-2) ?? last;
  }

  occupy(worker: WorkerId, demands: readonly Demand[], now: Instant): void {
    const seat = this.#seatOf(worker);
    seat.load++;
    if (seat.free > 0) {
      seat.free--;
      this.slots.free--;
      if (this.#idle.at(-1) === worker) this.#idle.pop();
      else this.#idle.splice(this.#idle.lastIndexOf(worker), 1);
    }
    take(demands, now);
  }

  release(worker: WorkerId, demands: readonly Demand[]): void {
    giveBack(demands);
    const seat = this.#seats.get(worker);
    if (seat === undefined) return;
    seat.load = Math.max(0, seat.load - 1);
    // A worker that came back with fewer slots may hold more tasks than it has slots: then the end of one does not free a slot.
    if (seat.load + seat.free < seat.slots) {
      seat.free++;
      this.slots.free++;
      this.#idle.push(worker);
    } else if (seat.slots === 0 && seat.load === 0) this.#seats.delete(worker);
  }

  /** A worker may hold tasks of this node without being known to it, and has no slot then. */
  #seatOf(worker: WorkerId): Seat {
    let seat = this.#seats.get(worker);
    if (seat === undefined) {
      seat = { slots: 0, free: 0, load: 0 };
      this.#seats.set(worker, seat);
    }
    return seat;
  }
}

/** How much a worker does at once. */
interface Seat {
  /** Zero for a worker that has left and still holds tasks. */
  readonly slots: number;
  /** How many of its slots are idle. */
  free: number;
  /** How many tasks it holds: more than slots only while several runs are taken up again one after the other. */
  load: number;
}

/** A node that could take the task, and what the task would take there. */
export interface Placement {
  readonly node: Node;
  readonly demands: readonly Demand[];
}

/** What makes one node better than another. */
export interface Preference {
  /** How much of what the task needs was made there. */
  readonly affinity: (node: Node) => number;
  /** The worker that lost the task's last lease: any other worker is better. */
  readonly avoided: WorkerId | undefined;
}

/**
 * The node that is left with the least when the task has taken its part, so that the large ones keep room for large tasks. Before
 * that criterion: the node where most of what the task needs was made. First of all: a node where another worker is free than the one to avoid.
 */
export function bestSpot(
  placements: readonly Placement[],
  { affinity, avoided }: Preference,
  now: Instant,
): Placement | undefined {
  let best: { readonly placement: Placement; readonly merits: readonly number[] } | undefined;
  for (const placement of placements) {
    if (!canTake(placement, now)) continue;
    const another = avoided !== undefined && placement.node.next(avoided) === avoided ? 0 : 1;
    const merits = [another, affinity(placement.node), -leftover(placement)];
    if (best === undefined || isBetter(merits, best.merits)) best = { placement, merits };
  }
  return best?.placement;
}

function isBetter(merits: readonly number[], others: readonly number[]): boolean {
  const at = merits.findIndex((merit, index) => merit !== others[index]);
  return at >= 0 && (merits[at] as number) > (others[at] as number);
}

export const canTake = ({ node, demands }: Placement, now: Instant): boolean => node.idle > 0 && fits(demands, now);

function leftover({ node, demands }: Placement): number {
  let left = (node.slots.free - 1) / node.slots.capacity;
  for (const { resource, amount } of demands) left += (resource.free - amount) / resource.capacity;
  return left;
}

/** The machines that work is given to: their workers, what they have, and which of them a task goes to. */
import type { WorkerId } from "../domain/ids.ts";
import type { Amounts } from "../domain/spec.ts";
import type { Instant } from "../domain/time.ts";
import { instant } from "../domain/time.ts";
import { type Draw, fits, giveBack, type Pot, Room, take } from "./room.ts";

export interface NodeSpec {
  readonly name: string;
  readonly workers: readonly WorkerId[];
  readonly capacity: Amounts;
  readonly capabilities: readonly string[];
  /** Workers come and go, each with capabilities of its own: every task has a place here, and who may take it is asked elsewhere. */
  readonly open?: boolean;
}

export class Node {
  readonly name: string;
  readonly room: Room;
  readonly capabilities: ReadonlySet<string>;
  readonly open: boolean;
  readonly #workers: Set<WorkerId>;
  /** How many tasks each of them does at once; one where nothing is said. */
  readonly #slotsOf = new Map<WorkerId, number>();
  /** Worker slots as something that can run short, like memory. */
  readonly slots: Pot;
  #idle: WorkerId[];
  /** How often each worker stands among the idle. */
  readonly #free = new Map<WorkerId, number>();
  /** How many tasks a worker has: more than it has slots only while several runs are taken up again one after the other. */
  readonly #load = new Map<WorkerId, number>();

  constructor({ name, workers, capacity, capabilities, open = false }: NodeSpec) {
    this.name = name;
    this.room = new Room(capacity);
    this.capabilities = new Set(capabilities);
    this.open = open;
    this.#workers = new Set(workers);
    this.slots = { name: "workers", capacity: workers.length, free: workers.length, at: instant(0) };
    this.#idle = [...workers].reverse();
    for (const worker of workers) this.#free.set(worker, 1);
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
    this.#slotsOf.set(worker, slots);
    const free = Math.max(0, slots - (this.#load.get(worker) ?? 0));
    for (let slot = 0; slot < free; slot++) this.#idle.push(worker);
    this.#free.set(worker, free);
    this.slots.capacity += slots;
    this.slots.free += free;
  }

  /** A worker is gone. What it has stays out until it is known to be lost. */
  dismiss(worker: WorkerId): void {
    if (!this.#workers.delete(worker)) return;
    this.slots.free -= this.#free.get(worker) ?? 0;
    this.#idle = this.#idle.filter((each) => each !== worker);
    this.slots.capacity -= this.#slotsOf.get(worker) ?? 1;
    this.#free.delete(worker);
    this.#slotsOf.delete(worker);
  }

  isIdle(worker: WorkerId): boolean {
    return (this.#free.get(worker) ?? 0) > 0;
  }

  /** The worker that would get the next task; another one than `avoided` if there is any. */
  next(avoided: WorkerId | undefined): WorkerId | undefined {
    const last = this.#idle.at(-1);
    if (last !== avoided || avoided === undefined) return last;
    return this.#idle.at(-2) ?? last;
  }

  occupy(worker: WorkerId, draws: readonly Draw[], now: Instant): void {
    this.#load.set(worker, (this.#load.get(worker) ?? 0) + 1);
    const free = this.#free.get(worker) ?? 0;
    if (free > 0) {
      this.#idle.splice(this.#idle.lastIndexOf(worker), 1);
      this.#free.set(worker, free - 1);
      this.slots.free--;
    }
    take(draws, now);
  }

  release(worker: WorkerId, draws: readonly Draw[]): void {
    const left = (this.#load.get(worker) ?? 1) - 1;
    if (left > 0) this.#load.set(worker, left);
    else this.#load.delete(worker);
    const free = this.#free.get(worker) ?? 0;
    // Who has more than it has slots, since it came back with fewer, does not get the next one for each that it ends.
    if (this.#workers.has(worker) && left + free < (this.#slotsOf.get(worker) ?? 1)) {
      this.#idle.push(worker);
      this.#free.set(worker, free + 1);
      this.slots.free++;
    }
    giveBack(draws);
  }
}

/** Something a task could be given to, and what it would take there. */
export interface Spot {
  readonly node: Node;
  readonly draws: readonly Draw[];
}

/** What speaks for one node or another. */
export interface Preference {
  /** How much of what the task needs was made there. */
  readonly affinity: (node: Node) => number;
  /** Who lost the task's last lease: anybody else is better. */
  readonly avoided: WorkerId | undefined;
}

/**
 * The node that is left with the least when the task has taken its part, so that the large ones keep room for large tasks; before
 * that, the one where most of what the task needs was made; before that, one where somebody else is free than who lost it.
 */
export function bestSpot(spots: readonly Spot[], { affinity, avoided }: Preference, now: Instant): Spot | undefined {
  if (spots.length === 1) return canTake(spots[0] as Spot, now) ? spots[0] : undefined;
  let best: { readonly spot: Spot; readonly merits: readonly number[] } | undefined;
  for (const spot of spots) {
    if (!canTake(spot, now)) continue;
    const another = avoided !== undefined && spot.node.next(avoided) === avoided ? 0 : 1;
    const merits = [another, affinity(spot.node), -leftover(spot)];
    if (best === undefined || isBetter(merits, best.merits)) best = { spot, merits };
  }
  return best?.spot;
}

function isBetter(merits: readonly number[], others: readonly number[]): boolean {
  const at = merits.findIndex((merit, index) => merit !== others[index]);
  return at >= 0 && (merits[at] as number) > (others[at] as number);
}

export const canTake = ({ node, draws }: Spot, now: Instant): boolean => node.idle > 0 && fits(draws, now);

function leftover({ node, draws }: Spot): number {
  let left = (node.slots.free - 1) / node.slots.capacity;
  for (const { pot, amount } of draws) left += (pot.free - amount) / pot.capacity;
  return left;
}

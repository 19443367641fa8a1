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
}

export class Node {
  readonly name: string;
  readonly room: Room;
  readonly capabilities: ReadonlySet<string>;
  readonly workers: ReadonlySet<WorkerId>;
  /** Worker slots as something that can run short, like memory. */
  readonly slots: Pot;
  readonly #idle: WorkerId[];
  /** How many tasks a worker has: more than one only while several runs are taken up again one after the other. */
  readonly #load = new Map<WorkerId, number>();

  constructor({ name, workers, capacity, capabilities }: NodeSpec) {
    this.name = name;
    this.room = new Room(capacity);
    this.capabilities = new Set(capabilities);
    this.workers = new Set(workers);
    this.slots = { name: "workers", capacity: workers.length, free: workers.length, at: instant(0) };
    this.#idle = [...workers].reverse();
  }

  get idle(): number {
    return this.#idle.length;
  }

  /** The worker that would get the next task; another one than `avoided` if there is any. */
  next(avoided: WorkerId | undefined): WorkerId | undefined {
    const last = this.#idle.at(-1);
    if (last !== avoided || avoided === undefined) return last;
    return this.#idle.at(-2) ?? last;
  }

  occupy(worker: WorkerId, draws: readonly Draw[], now: Instant): void {
    this.#load.set(worker, (this.#load.get(worker) ?? 0) + 1);
    const slot = this.#idle.lastIndexOf(worker);
    if (slot >= 0) {
      this.#idle.splice(slot, 1);
      this.slots.free--;
    }
    take(draws, now);
  }

  release(worker: WorkerId, draws: readonly Draw[]): void {
    const left = (this.#load.get(worker) ?? 1) - 1;
    this.#load.set(worker, left);
    if (left === 0 && this.workers.has(worker)) {
      this.#idle.push(worker);
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

/**
 * The node that is left with the least when the task has taken its part, so that the large ones keep room for large tasks; before
 * that, the one where most of what the task needs was made.
 */
export function bestSpot(spots: readonly Spot[], affinity: (node: Node) => number, now: Instant): Spot | undefined {
  if (spots.length === 1) return canTake(spots[0] as Spot, now) ? spots[0] : undefined;
  let best: { readonly spot: Spot; readonly near: number; readonly left: number } | undefined;
  for (const spot of spots) {
    if (!canTake(spot, now)) continue;
    const near = affinity(spot.node);
    const left = leftover(spot);
    if (best === undefined || near > best.near || (near === best.near && left < best.left)) best = { spot, near, left };
  }
  return best?.spot;
}

export const canTake = ({ node, draws }: Spot, now: Instant): boolean => node.idle > 0 && fits(draws, now);

function leftover({ node, draws }: Spot): number {
  let left = (node.slots.free - 1) / node.slots.capacity;
  for (const { pot, amount } of draws) left += (pot.free - amount) / pot.capacity;
  return left;
}

/** Resources, and how much of each is taken. Nothing is given that does not fit, or given back twice. */
import type { Amounts, Rate } from "../../domain/spec.ts";
import { type Instant, instant } from "../../domain/time.ts";
import { broken } from "../../std/invariant.ts";

/** One resource, with how much of it there is and how much is free. */
export interface Resource {
  readonly name: string;
  capacity: number;
  free: number;
  /** For a rate: it fills up again by itself, this much a millisecond, and nothing is given back. */
  readonly refill?: number;
  /** For a rate: the moment to which `free` refers. */
  at: Instant;
}
/** What was taken of a rate, and when. */
export interface Use {
  readonly at: Instant;
  readonly amount: number;
}
/** An amount of one resource that a task asks for. */
export interface Demand {
  readonly resource: Resource;
  readonly amount: number;
}

const BEGINNING = instant(0);

export class Room {
  readonly #resources = new Map<string, Resource>();

  constructor(capacity: Amounts) {
    for (const [name, amount] of Object.entries(capacity)) this.add(name, amount);
  }

  add(name: string, capacity: number): void {
    if (!this.#resources.has(name)) this.#resources.set(name, { name, capacity, free: capacity, at: BEGINNING });
  }

  /** A bucket that is full when it is new, less what was taken from it before this scheduler started. */
  addRate(name: string, { amount, per }: Rate, since: Instant, uses: readonly Use[] = []): void {
    if (this.#resources.has(name)) return;
    const resource: Resource = { name, capacity: amount, free: amount, refill: amount / per, at: since };
    for (const use of [...uses].sort((a, b) => a.at - b.at)) {
      take([{ resource, amount: use.amount }], use.at);
      // The recorded uses are not exact, and a rate never gave more than it had.
      resource.free = Math.max(0, resource.free);
    }
    this.#resources.set(name, resource);
  }

  remove(name: string): void {
    this.#resources.delete(name);
  }

  resource(name: string): Resource | undefined {
    return this.#resources.get(name);
  }

  resources(): Iterable<Resource> {
    return this.#resources.values();
  }
}

export const fits = (demands: readonly Demand[], now: Instant): boolean => {
  for (const { resource, amount } of demands) if (amount > freeAt(resource, now)) return false;
  return true;
};

export const freeAt = ({ free, capacity, refill, at }: Resource, now: Instant): number =>
  refill === undefined ? free : Math.min(capacity, free + refill * Math.max(0, now - at));

/** When the rates among the draws will have filled up enough. Nothing when something else is missing, or nothing is. */
export function refilledAt(demands: readonly Demand[], now: Instant): Instant | undefined {
  let at: number = now;
  for (const { resource, amount } of demands) {
    const short = amount - freeAt(resource, now);
    if (short <= 0) continue;
    if (resource.refill === undefined || amount > resource.capacity) return undefined;
    at = Math.max(at, now + Math.ceil(short / resource.refill));
  }
  return at > now ? instant(at) : undefined;
}

/** Takes what a held task has in any case, so it may leave less than zero: ask `fits` before a new task is given out. */
export function take(demands: readonly Demand[], now: Instant): void {
  for (const { resource, amount } of demands) {
    resource.free = freeAt(resource, now) - amount;
    // A use that is recorded late does not refill the rate a second time.
    if (now > resource.at) resource.at = now;
  }
}

/** What was taken of a rate is used up. */
export function giveBack(demands: readonly Demand[]): void {
  for (const { resource, amount } of demands) {
    if (resource.refill !== undefined) continue;
    resource.free += amount;
    if (resource.free > resource.capacity) broken(`${resource.name} was given back twice`);
  }
}

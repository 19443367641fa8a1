/** Resources, and how much of each is taken. Nothing is given that does not fit, or given back twice. */
import type { Amounts, Rate } from "../../domain/spec.ts";
import { type Instant, instant } from "../../domain/time.ts";
import { broken } from "../../std/invariant.ts";

/** One resource, with how much of it there is and how much is free. */
export interface Pot {
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
export interface Draw {
  readonly pot: Pot;
  readonly amount: number;
}

const BEGINNING = instant(0);

export class Room {
  readonly #pots = new Map<string, Pot>();

  constructor(capacity: Amounts) {
    for (const [name, amount] of Object.entries(capacity)) this.add(name, amount);
  }

  add(name: string, capacity: number): void {
    if (!this.#pots.has(name)) this.#pots.set(name, { name, capacity, free: capacity, at: BEGINNING });
  }

  /** A bucket that is full when it is new, less what was taken from it before this scheduler started. */
  addRate(name: string, { amount, per }: Rate, since: Instant, uses: readonly Use[] = []): void {
    if (this.#pots.has(name)) return;
    const pot: Pot = { name, capacity: amount, free: amount, refill: amount / per, at: since };
    for (const use of [...uses].sort((a, b) => a.at - b.at)) {
      take([{ pot, amount: use.amount }], use.at);
      // The recorded uses are not exact, and a rate never gave more than it had.
      pot.free = Math.max(0, pot.free);
    }
    this.#pots.set(name, pot);
  }

  remove(name: string): void {
    this.#pots.delete(name);
  }

  pot(name: string): Pot | undefined {
    return this.#pots.get(name);
  }

  pots(): Iterable<Pot> {
    return this.#pots.values();
  }
}

export const fits = (draws: readonly Draw[], now: Instant): boolean => {
  for (const { pot, amount } of draws) if (amount > freeAt(pot, now)) return false;
  return true;
};

export const freeAt = ({ free, capacity, refill, at }: Pot, now: Instant): number =>
  refill === undefined ? free : Math.min(capacity, free + refill * Math.max(0, now - at));

/** When the rates among the draws will have filled up enough. Nothing when something else is missing, or nothing is. */
export function refilledAt(draws: readonly Draw[], now: Instant): Instant | undefined {
  let at: number = now;
  for (const { pot, amount } of draws) {
    const short = amount - freeAt(pot, now);
    if (short <= 0) continue;
    if (pot.refill === undefined || amount > pot.capacity) return undefined;
    at = Math.max(at, now + Math.ceil(short / pot.refill));
  }
  return at > now ? instant(at) : undefined;
}

/** Takes what a held task has in any case, so it may leave less than zero: ask `fits` before a new task is given out. */
export function take(draws: readonly Draw[], now: Instant): void {
  for (const { pot, amount } of draws) {
    pot.free = freeAt(pot, now) - amount;
    // A use that is recorded late does not refill the rate a second time.
    if (now > pot.at) pot.at = now;
  }
}

/** What was taken of a rate is used up. */
export function giveBack(draws: readonly Draw[]): void {
  for (const { pot, amount } of draws) {
    if (pot.refill !== undefined) continue;
    pot.free += amount;
    if (pot.free > pot.capacity) broken(`${pot.name} was given back twice`);
  }
}

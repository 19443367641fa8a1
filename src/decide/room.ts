/** What there is to give out, and what of it is taken. Nothing is given that does not fit, or given back twice. */
import type { Amounts } from "../domain/spec.ts";
import { invariant } from "../std/invariant.ts";

/** One kind of thing, with how much of it there is and how much is free. */
export interface Pot {
  readonly name: string;
  readonly capacity: number;
  free: number;
}
/** An amount of one pot that a task asks for. */
export interface Draw {
  readonly pot: Pot;
  readonly amount: number;
}

export class Room {
  readonly #pots = new Map<string, Pot>();

  constructor(capacity: Amounts) {
    for (const [name, amount] of Object.entries(capacity)) this.add(name, amount);
  }

  add(name: string, capacity: number): void {
    if (!this.#pots.has(name)) this.#pots.set(name, { name, capacity, free: capacity });
  }

  pot(name: string): Pot | undefined {
    return this.#pots.get(name);
  }

  pots(): Iterable<Pot> {
    return this.#pots.values();
  }
}

export const fits = (draws: readonly Draw[]): boolean => {
  for (const { pot, amount } of draws) if (amount > pot.free) return false;
  return true;
};

/** Takes what is out in any case, so it may leave less than nothing: ask `fits` before giving out more. */
export function take(draws: readonly Draw[]): void {
  for (const { pot, amount } of draws) {
    pot.free -= amount;
  }
}

export function giveBack(draws: readonly Draw[]): void {
  for (const { pot, amount } of draws) {
    pot.free += amount;
    invariant(pot.free <= pot.capacity, `${pot.name} was given back twice`);
  }
}

/** One seed, and a stream of numbers for each part of the simulation: the draws of one part do not move those of the others. */
import { type Millis, millis } from "../../../domain/time.ts";
import { type Random, seededRandom } from "../../../effects/random.ts";

export class Chance {
  readonly #seed: number;
  readonly #random: Random;

  constructor(seed: number) {
    this.#seed = seed;
    this.#random = seededRandom(seed);
  }

  /** A stream of its own, always the same for the same name. */
  fork(name: string): Chance {
    let mixed = this.#seed | 0;
    for (let at = 0; at < name.length; at++) mixed = Math.imul(mixed ^ name.charCodeAt(at), 0x01000193) + 0x9e37;
    return new Chance(mixed ^ (mixed >>> 13));
  }

  /** Uniform in [0, 1). */
  next(): number {
    return this.#random.next();
  }

  flip(odds: number): boolean {
    return this.next() < odds;
  }

  /** A whole number from `least` to `most`, both included. */
  whole(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.next() * from.length)] as T;
  }

  /** A span between the two, short ones as likely as long ones. */
  span(least: number, most: number): Millis {
    return millis(Math.round(least * (most / least) ** this.next()));
  }
}

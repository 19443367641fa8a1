/**
 * Tries orders out before one is taken: plays the rest of a run through to its end, as far as durations are known, once for each of
 * a few orders, and keeps the best. Only the order is taken from it. The dispatcher still gives out whatever fits, so no task ever waits
 * for a forecast that turns out to be wrong.
 */
import type { Outlook } from "./outlook.ts";
import { type Order, orderBy, Player } from "./rollout-play.ts";

export interface RolloutBudget {
  /** Orders that are tried. */
  readonly plays: number;
  /** Asked before each play but the first. */
  readonly isOver: () => boolean;
}

export interface Found {
  /** By task of the outlook: the higher rank goes first. */
  readonly ranks: Float64Array;
  /** How long everything takes then, as far as durations are known. */
  readonly length: number;
}

/** How far the ranks are shaken, as shares of themselves: a little reorders what is nearly equal, more finds other orders. */
const SHAKES = [0.05, 0.1, 0.2, 0.3];

/**
 * The best of three: the best order so far, the longest remaining path first, and shaken variants of the latter. Shaking the longest-path
 * order, and not the best one so far, was as good on published instances, and better where estimates are wrong.
 */
export function rollout(outlook: Outlook, incumbent: Float64Array, budget: RolloutBudget, seed: number): Found {
  const player = new Player(outlook);
  const { tails } = outlook;
  let best: Found = { ranks: incumbent, length: player.play(orderBy(incumbent), Number.POSITIVE_INFINITY) };
  const next = gaussian(seed);
  for (let plays = 1; plays < budget.plays && !budget.isOver(); plays++) {
    const shake = plays === 1 ? 0 : (SHAKES[plays % SHAKES.length] as number);
    const ranks = tails.map((tail) => tail * (1 + shake * next()));
    const order: Order = orderBy(ranks);
    const length = player.play(order, best.length);
    if (length < best.length) best = { ranks, length };
  }
  return best;
}

/** Normally distributed numbers, the same ones for the same seed. */
function gaussian(seed: number): () => number {
  let state = seed | 0;
  const uniform = (): number => {
    state = (state + 0x9e3779b9) | 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

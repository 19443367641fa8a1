/** What a scheduler may believe of durations that are really known: the truth, the truth with noise, or nothing. */
import { seededRandom } from "../../src/effects/random.ts";
import type { Belief } from "./drive.ts";
import type { Instance } from "./instances.ts";

/** As many as make the error known. */
const OBSERVED = 1_000;

/** Estimates that are right, and have always been. */
export const truth = ({ specs }: Instance): Belief => ({
  estimates: specs.map(({ estimate }) => estimate),
  error: { count: OBSERVED, sumOfSquares: 0 },
});

export const nothing = ({ specs }: Instance): Belief => ({
  estimates: specs.map(() => undefined),
  error: { count: 0, sumOfSquares: 0 },
});

/** Estimates that are off by a factor whose logarithm is normal with this σ, which earlier runs have shown. */
export const noisy =
  (sigma: number) =>
  ({ specs, name, set }: Instance): Belief => {
    const random = seededRandom(hash(`${set} ${name}`));
    return {
      estimates: specs.map(({ estimate }) => (estimate as number) * Math.exp(sigma * gaussian(random))),
      error: { count: OBSERVED, sumOfSquares: OBSERVED * sigma ** 2 },
    };
  };

const gaussian = (random: { next(): number }): number =>
  Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());

/** The same noise for the same instance, whatever else is measured. */
const hash = (text: string): number => Buffer.from(text).reduce((sum, byte) => (Math.imul(sum, 31) + byte) | 0, 7);

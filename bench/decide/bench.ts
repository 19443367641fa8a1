/** What single decisions cost: ranking a plan, giving out one task, taking note of an end, a claim among many runs. */
import { atMost, type Bench, inChild, machine, median, round } from "../rig.ts";

const PARTS = new URL("./parts.ts", import.meta.url);
/** Ends that are timed at every size, so that all sizes are equally warm. */
const ENDS = 20_000;

export const bench: Bench = async ({ quick }) => {
  const rounds = quick ? 1 : 3;
  const waiting = quick ? 10_000 : 100_000;
  const sizes = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000, 1_000_000];
  const ranking = await repeat<{ ms: number; edges: number }>(rounds, ["rank", waiting]);
  const one = await repeat<{ us: number }>(rounds, ["dispatch", waiting, 1, 1]);
  const many = await repeat<{ us: number }>(rounds, ["dispatch", waiting, 4, 16]);
  const ends: Record<string, number> = {};
  for (const size of sizes) {
    const measured = await repeat<{ us: number }>(size < 1_000_000 ? rounds : 1, ["complete", size, ENDS]);
    ends[size] = round(median(measured.map(({ us }) => us)));
  }
  const ahead = await repeat<{ ms: number; worstMs: number }>(rounds, ["lookAhead", 300]);
  const [few, crowd] = quick ? [600, 2_000] : [1_000, 20_000];
  const amongFew = await repeat<{ us: number }>(rounds, ["amongRuns", few]);
  const amongMany = await repeat<{ us: number }>(rounds, ["amongRuns", crowd]);
  const claim = (measured: readonly { readonly us: number }[]): number => median(measured.map(({ us }) => us));
  const costs = Object.values(ends);
  return {
    machine: machine(),
    goals: [
      atMost("Q9 rank 100,000 tasks with 300,000 edges, ms", median(ranking.map(({ ms }) => ms)), 50),
      atMost("Q9 one dispatch of 100,000 ready, µs", median(one.map(({ us }) => us)), 20),
      atMost("Q9 one dispatch of 100,000 ready, 4 lanes, 16 shapes, µs", median(many.map(({ us }) => us)), 20),
      atMost("cost of an end, costliest size over cheapest", Math.max(...costs) / Math.min(...costs), 2),
      atMost(
        `a claim and its end among ${crowd} waiting runs, over one among ${few}`,
        claim(amongMany) / claim(amongFew),
        2,
      ),
      atMost("one decision by looking ahead over 300 tasks, ms", median(ahead.map(({ ms }) => ms)), 5),
    ],
    results: {
      ranking,
      dispatch: one,
      dispatchManyShapes: many,
      microsecondsPerEnd: ends,
      amongFew,
      amongMany,
      lookAhead: ahead,
    },
  };
};

async function repeat<T>(times: number, args: readonly (string | number)[]): Promise<readonly T[]> {
  const results: T[] = [];
  for (let at = 0; at < times; at++) results.push(await inChild<T>(PARTS, args));
  return results;
}

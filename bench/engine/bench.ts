/** What the engine itself costs: throughput beside a hand-written loop, flatness, memory, loading and restarting. */
import { atLeast, atMost, type Bench, inChild, machine, median, round } from "../rig.ts";

const PARTS = new URL("./parts.ts", import.meta.url);
const BATCH = 100;

export const bench: Bench = async ({ quick }) => {
  const sizes = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000, 1_000_000];
  const pairs = [];
  for (let round_ = 0; round_ < (quick ? 1 : 3); round_++) {
    // Side by side, so that whatever else the machine does meets both.
    const hand = await inChild<{ usPerTask: number }>(PARTS, ["byHand", quick ? 10_000 : 50_000, BATCH]);
    const ours = await inChild<{ usPerTask: number }>(PARTS, ["throughput", quick ? 10_000 : 50_000, BATCH]);
    pairs.push({ hand: hand.usPerTask, ours: ours.usPerTask, ratio: hand.usPerTask / ours.usPerTask });
  }
  const ratio = median(pairs.map((pair) => pair.ratio));
  const flat = await costsOf(sizes, quick ? 1 : 3);
  const costs = Object.values(flat);
  const memory = await inChild<{ bytesPerTask: number }>(PARTS, ["memory", quick ? 20_000 : 200_000]);
  const load = await inChild<{ ratio: number }>(PARTS, ["load", quick ? 100_000 : 1_000_000]);
  const restart = await inChild<{ ms: number; ready: number }>(PARTS, ["restart", quick ? 10_000 : 100_000]);
  return {
    machine: machine(),
    goals: [
      atLeast("tasks per second, as a share of the hand-written loop", ratio, 0.4),
      atMost("cost per task, dearest size over cheapest", Math.max(...costs) / Math.min(...costs), 1.5),
      atMost("bytes of memory per waiting task", memory.bytesPerTask, 1_536),
      atMost("loading a plan, times JSON.parse", load.ratio, 10),
      atMost("restart with unfinished tasks, ms", restart.ms, 5_000),
    ],
    results: { pairs, microsecondsPerTask: flat, memory, load, restart },
  };
};

/** Microseconds a task, for each size. In turns: a moment in which the machine is busy would otherwise be one size's alone. */
async function costsOf(sizes: readonly number[], rounds: number): Promise<Readonly<Record<string, number>>> {
  const laps = new Map<number, number[]>(sizes.map((size) => [size, []]));
  for (let no = 0; no < rounds; no++)
    for (const [size, lap] of laps)
      lap.push((await inChild<{ usPerTask: number }>(PARTS, ["throughput", size, BATCH])).usPerTask);
  return Object.fromEntries(Array.from(laps, ([size, lap]) => [size, round(median(lap))]));
}

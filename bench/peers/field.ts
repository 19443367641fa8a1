/** Measures every runner, in turns, so that other load on the machine meets all of them: rates and latencies, with ratios. */
import { loadavg } from "node:os";
import { median, type Percentiles, percentiles, round } from "../rig.ts";
import type { Skipped, Throughput } from "./queues/hall.ts";

export interface Runner<T> {
  readonly name: string;
  /** Rounds it takes part in at most, where it is slow. */
  readonly roundsMax?: number;
  /** How many jobs it does in a round, where they are fewer than the others do. */
  readonly jobs?: number;
  run(): Promise<T | Skipped>;
}

export interface Load {
  readonly before: number;
  readonly after: number;
}

export interface Rates {
  readonly load: Load;
  readonly rates: Readonly<Record<string, Rate | Skipped>>;
  /** Ours over each peer: the median of the ratios of each round. */
  readonly ratios: Readonly<Record<string, number>>;
}
export interface Rate extends Throughput {
  readonly rounds: number;
  readonly best: number;
  readonly jobs?: number;
}

export interface Turns {
  readonly rounds: number;
  /** Called before each turn, so that no runner is measured beside what another has left behind. */
  readonly rest: () => Promise<void>;
}

/** The first of the runners is the one the others are compared with. */
export async function compareRates(runners: readonly Runner<Throughput>[], turns: Turns): Promise<Rates> {
  const { laps, load } = await takeTurns(runners, turns, ({ perSecond }) => `${Math.round(perSecond)} a second`);
  const ours = laps.get(runners[0]?.name ?? "")?.done ?? [];
  const ratios = new Map<string, number>();
  const rates: Record<string, Rate | Skipped> = {};
  for (const { name, jobs } of runners) {
    const { done, skipped } = laps.get(name) as Laps<Throughput>;
    if (skipped !== undefined || done.length === 0) {
      rates[name] = { skipped: skipped ?? "it took no part" };
      continue;
    }
    rates[name] = { ...summary(done), ...(jobs !== undefined && { jobs }) };
    // Round by round, so that a moment in which the machine was busy counts on both sides.
    const pairs = done.slice(0, ours.length).map((lap, no) => (ours[no] as Throughput).perSecond / lap.perSecond);
    if (pairs.length > 0) ratios.set(name, round(median(pairs)));
  }
  return { load, rates, ratios: Object.fromEntries(ratios) };
}

const summary = (done: readonly Throughput[]): Rate => ({
  rounds: done.length,
  perSecond: round(median(done.map(({ perSecond }) => perSecond))),
  best: round(Math.max(...done.map(({ perSecond }) => perSecond))),
  submitPerSecond: round(median(done.map(({ submitPerSecond }) => submitPerSecond))),
});

export interface Latencies {
  readonly load: Load;
  readonly latencies: Readonly<Record<string, Percentiles | Skipped>>;
}

/** Percentiles of each round, and then the medians of those: one bad moment of the machine is one round's. */
export async function compareLatencies(
  runners: readonly Runner<readonly number[]>[],
  turns: Turns,
): Promise<Latencies> {
  const { laps, load } = await takeTurns(runners, turns, (times) => `${round(percentiles(times).p50)} ms`);
  const latencies: Record<string, Percentiles | Skipped> = {};
  for (const [name, { done, skipped }] of laps) {
    const each = done.map(percentiles);
    latencies[name] =
      skipped !== undefined || each.length === 0
        ? { skipped: skipped ?? "it took no part" }
        : {
            samples: each.reduce((sum, { samples }) => sum + samples, 0),
            p50: round(median(each.map(({ p50 }) => p50))),
            p99: round(median(each.map(({ p99 }) => p99))),
          };
  }
  return { load, latencies };
}

interface Laps<T> {
  readonly done: T[];
  skipped?: string;
}

/** Every round begins with another runner, and every second goes backwards, so that no runner always comes after the same one. */
async function takeTurns<T extends object>(
  runners: readonly Runner<T>[],
  { rounds, rest }: Turns,
  describe: (result: T) => string,
): Promise<{ laps: Map<string, Laps<T>>; load: Load }> {
  const before = loadavg()[0] as number;
  const laps = new Map<string, Laps<T>>(runners.map(({ name }) => [name, { done: [] }]));
  for (let no = 0; no < rounds; no++) {
    for (let place = 0; place < runners.length; place++) {
      const at = no % 2 === 0 ? no + place : no - place;
      const runner = runners.at(at % runners.length) as Runner<T>;
      const lap = laps.get(runner.name) as Laps<T>;
      if (lap.skipped !== undefined || lap.done.length >= (runner.roundsMax ?? rounds)) continue;
      await rest();
      const result = await runner.run();
      if ("skipped" in result) lap.skipped = result.skipped;
      else {
        lap.done.push(result);
        process.stderr.write(`${runner.name}: ${describe(result)}\n`);
      }
    }
  }
  return { laps, load: { before: round(before), after: round(loadavg()[0] as number) } };
}

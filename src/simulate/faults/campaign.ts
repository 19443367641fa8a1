/** Many seeds, one after the other, and their results together. */
import { type Millis, millis } from "../../domain/time.ts";
import type { StoreKind } from "./seed/scenario.ts";
import { type Trial, tryOut } from "./trial.ts";

export interface Campaign {
  readonly firstSeed: number;
  /** How many seeds were played. */
  readonly seeds: number;
  /** The virtual time of all seeds together. */
  readonly virtual: Millis;
  readonly events: number;
  readonly claims: number;
  readonly tasks: number;
  /** Tasks that were acknowledged and have not ended. */
  readonly lost: number;
  /** Seeds in which something was wrong, with the first law that was broken. */
  readonly failures: readonly { readonly seed: number; readonly law: string }[];
  /** How long tasks waited to be given out, and sessions to be given a task. */
  readonly wait: Spread;
  readonly claim: Spread;
}

export interface Spread {
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export interface CampaignOptions {
  readonly firstSeed: number;
  readonly store: StoreKind;
  /** Asked after each seed, with the number of seeds so far. */
  readonly goesOn: (seeds: number) => boolean;
  /** Told of each seed when it is over. */
  readonly tried?: (trial: Trial) => void;
}

/** After this many failures there is no point in going on. */
const FAILURES_MAX = 20;
/** How many samples of each figure are kept, spread over the whole campaign. */
const SAMPLES_MAX = 50_000;

export async function runCampaign({ firstSeed, store, goesOn, tried }: CampaignOptions): Promise<Campaign> {
  const [waits, latencies] = [new Samples(), new Samples()];
  const failures: { seed: number; law: string }[] = [];
  const sums = { virtual: 0, events: 0, claims: 0, tasks: 0, lost: 0 };
  let seeds = 0;
  do {
    const trial = await tryOut(firstSeed + seeds, { store });
    seeds++;
    sums.virtual += trial.lasted;
    sums.events += trial.events;
    sums.claims += trial.claims;
    sums.tasks += trial.tasks;
    sums.lost += trial.lost;
    waits.add(trial.waits);
    latencies.add(trial.latencies);
    const [law] = trial.violations;
    if (law !== undefined) failures.push({ seed: trial.seed, law });
    tried?.(trial);
  } while (failures.length < FAILURES_MAX && goesOn(seeds));
  return {
    firstSeed,
    seeds,
    ...sums,
    virtual: millis(sums.virtual),
    failures,
    wait: waits.spread(),
    claim: latencies.spread(),
  };
}

/** Enough samples to say how the numbers are spread: when there are too many, every second one is dropped. */
class Samples {
  #kept: number[] = [];
  #every = 1;
  #count = 0;
  #max = 0;

  add(numbers: readonly number[]): void {
    for (const each of numbers) {
      this.#max = Math.max(this.#max, each);
      if (this.#count++ % this.#every === 0) this.#kept.push(each);
    }
    if (this.#kept.length <= SAMPLES_MAX) return;
    this.#kept = this.#kept.filter((_, at) => at % 2 === 0);
    this.#every *= 2;
  }

  spread(): Spread {
    const sorted = this.#kept.toSorted((a, b) => a - b);
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
    return { p50: at(0.5), p99: at(0.99), max: this.#max };
  }
}

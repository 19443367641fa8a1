/** Four ways in which the tasks of the sharing parties can differ. Weights 50, 30, 15 and 5 in all of them. */
import { type Random, seededRandom } from "../../src/effects/random.ts";
import type { Contest, Party, Work } from "./contest.ts";

export interface Scenario {
  readonly name: string;
  readonly setup: Contest;
  /** Mean length of a task, when every party gets its share. */
  readonly meanMs: number;
  /** The longest task there is. */
  readonly longestMs: number;
  /** Mean time, in milliseconds, in which the smallest party is due one task. */
  readonly smallestEveryMs: number;
}

export const WEIGHTS = [50, 30, 15, 5] as const;
const GIB = 2 ** 30;

interface Kind {
  readonly meanMs: number;
  readonly make: (random: Random) => Work;
  /** Dominant share of one task, given the workers. */
  readonly share: (workers: number) => number;
}

const alike: Kind = {
  meanMs: 1_000,
  make: (random) => ({ ms: 800 + Math.floor(random.next() * 401) }),
  share: (workers) => 1 / workers,
};
const exponential: Kind = {
  meanMs: 1_000,
  make: (random) => ({ ms: Math.max(1, Math.round(-1_000 * Math.log(1 - random.next()))) }),
  share: (workers) => 1 / workers,
};
const long: Kind = {
  meanMs: 10_000,
  make: (random) => ({ ms: 8_000 + Math.floor(random.next() * 4_001) }),
  share: (workers) => 1 / workers,
};
/** Less than the workers could use, so that what runs short is cores and memory. */
const MIXED = { cpu: 16_000, memory: 48 * GIB };
const shaped = (cores: number, gib: number): Kind => ({
  meanMs: 1_000,
  make: (random) => ({ ...alike.make(random), resources: { cpu: cores * 1_000, memory: gib * GIB } }),
  share: (workers) => Math.max(1 / workers, (cores * 1_000) / MIXED.cpu, (gib * GIB) / MIXED.memory),
});

const KINDS: Readonly<Record<string, { readonly kinds: readonly Kind[]; readonly capacity?: typeof MIXED }>> = {
  "like-sized": { kinds: [alike, alike, alike, alike] },
  exponential: { kinds: [exponential, exponential, exponential, exponential] },
  "smallest 10x longer": { kinds: [alike, alike, alike, long] },
  "mixed shapes": { kinds: [shaped(2, 2), shaped(1, 6), shaped(4, 2), shaped(1, 4)], capacity: MIXED },
};
export const SCENARIOS: readonly string[] = Object.keys(KINDS);

/** Every party has work for `windows` times the window of `windowOf`, and some more. */
export function scenario(name: string, workers: number, lastingMs: number, seed: number): Scenario {
  const { kinds, capacity } = KINDS[name] as (typeof KINDS)[string];
  const random = seededRandom(seed);
  const rate = kinds.map((kind, at) => dueRate(kind, (WEIGHTS[at] as number) / 100, kinds, workers));
  const parties = kinds.map(({ make }, at): Party => {
    const count = Math.ceil((rate[at] as number) * lastingMs * 1.5) + 100;
    return { weight: WEIGHTS[at] as number, tasks: Array.from({ length: count }, () => make(random)) };
  });
  const tasks = parties.flatMap((party) => party.tasks);
  const all = rate.reduce((sum, each) => sum + each, 0);
  return {
    name,
    setup: { workers, parties, until: lastingMs, ...(capacity !== undefined && { capacity }) },
    meanMs: rate.reduce((sum, each, at) => sum + (each / all) * (kinds[at] as Kind).meanMs, 0),
    longestMs: tasks.reduce((longest, { ms }) => Math.max(longest, ms), 0),
    smallestEveryMs: 1 / (rate.at(-1) as number),
  };
}

/** Tasks a millisecond that a party is due, at most: its part of a machine of which the dominant resources are used up. */
function dueRate(kind: Kind, part: number, kinds: readonly Kind[], workers: number): number {
  // Every party at its part takes this many workers; more than there are is more than can be.
  const busy = kinds.reduce((sum, each, at) => sum + (WEIGHTS[at] as number) / 100 / each.share(workers), 0);
  const scale = Math.min(1, workers / busy);
  return ((part / kind.share(workers)) * scale) / kind.meanMs;
}

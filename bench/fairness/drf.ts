/** F6: dominant resource fairness. Everything starts at one moment and nothing ends, so that what is held is the allocation. */

import type { Amounts } from "../../src/domain/spec.ts";
import { type Random, seededRandom } from "../../src/effects/random.ts";
import { type Contest, contest, type Party, type Stay, type Work } from "./contest.ts";
import { dominantShare } from "./measures.ts";

const WORKERS = 400;
const NEVER_MS = 1e12;

export interface DrfFigures {
  /** Tasks of each party in the worked example: 9 cores and 18 GB, of which one asks for 1 and 4, the other for 3 and 1. */
  readonly example: readonly number[];
  readonly mixes: number;
  /** Mixes in which shares differ by more than a task when the first party is turned away. */
  readonly unequal: number;
  /** Starts that went to a party while another with a smaller share could have had one. */
  readonly outOfTurn: number;
  /** Mixes in which a party had more of its tasks done by asking for more than it needs. */
  readonly lyingHelped: number;
}

export async function measureDrf(mixes: number): Promise<DrfFigures> {
  const random = seededRandom(6);
  const figures = { unequal: 0, outOfTurn: 0, lyingHelped: 0 };
  for (let mix = 0; mix < mixes; mix++) {
    const setup = randomMix(random);
    const stays = await contest(setup);
    if (!isEqualUpToOneTask(setup, stays)) figures.unequal++;
    figures.outOfTurn += countOutOfTurn(setup, stays);
    if (await helps(setup, lie(setup, random))) figures.lyingHelped++;
  }
  return { example: await workedExample(), mixes, ...figures };
}

async function workedExample(): Promise<readonly number[]> {
  const party = (cpu: number, memory: number): Party => partyOf({ cpu, memory }, 50);
  const setup = { workers: 64, capacity: { cpu: 9, memory: 18 }, parties: [party(1, 4), party(3, 1)], until: 1 };
  const stays = await contest(setup);
  return setup.parties.map((_, at) => stays.filter((stay) => stay.party === at).length);
}

const partyOf = (resources: Amounts, count: number, ms = NEVER_MS): Party => ({
  weight: 1,
  tasks: Array.from({ length: count }, (): Work => ({ ms, resources })),
});

/** Two to four parties that ask for one to a tenth of something of each of two or three kinds. */
function randomMix(random: Random): Contest {
  const kinds = ["cpu", "memory", "gpu"].slice(0, 2 + Math.floor(random.next() * 2));
  const capacity = Object.fromEntries(kinds.map((kind) => [kind, 50 + Math.floor(random.next() * 100)]));
  const parties = Array.from({ length: 2 + Math.floor(random.next() * 3) }, () => {
    const most = (kind: string): number => 1 + Math.floor((random.next() * (capacity[kind] as number)) / 10);
    return partyOf(Object.fromEntries(kinds.map((kind) => [kind, most(kind)])), 160);
  });
  return { workers: WORKERS, capacity, parties, until: 1 };
}

/** Up to the first moment at which the next task of a party does not fit. */
function isEqualUpToOneTask(setup: Contest, stays: readonly Stay[]): boolean {
  const shares = setup.parties.map(() => 0);
  const free = { ...setup.capacity };
  const one = setup.parties.map(({ tasks }) => dominantShare({ work: tasks[0] as Work }, setup));
  for (const stay of stays) {
    if (setup.parties.some(({ tasks }) => !fits(tasks[0] as Work, free))) break;
    shares[stay.party] = (shares[stay.party] as number) + (one[stay.party] as number);
    for (const [kind, amount] of Object.entries(stay.work.resources ?? {})) free[kind] = (free[kind] ?? 0) - amount;
  }
  return shares.every((share, at) =>
    shares.every((other, to) => Math.abs(share - other) <= Math.max(one[at] as number, one[to] as number) + 1e-9),
  );
}

function countOutOfTurn(setup: Contest, stays: readonly Stay[]): number {
  const shares = setup.parties.map(() => 0);
  const free = { ...setup.capacity };
  let count = 0;
  for (const stay of stays) {
    const mine = shares[stay.party] as number;
    const couldGo = setup.parties.some(
      ({ tasks }, at) => (shares[at] as number) < mine - 1e-9 && fits(tasks[0] as Work, free),
    );
    if (couldGo) count++;
    shares[stay.party] = mine + dominantShare(stay, setup);
    for (const [kind, amount] of Object.entries(stay.work.resources ?? {})) free[kind] = (free[kind] ?? 0) - amount;
  }
  return count;
}

const fits = ({ resources = {} }: Work, free: Amounts): boolean =>
  Object.entries(resources).every(([kind, amount]) => amount <= (free[kind] ?? 0));

/** The first party asks for more of something than it needs. Its tasks are the same, and so is what they bring. */
function lie(setup: Contest, random: Random): Contest {
  const [first, ...others] = setup.parties as readonly [Party, ...Party[]];
  const kinds = Object.keys(setup.capacity ?? {});
  const kind = kinds[Math.floor(random.next() * kinds.length)] as string;
  const truth = first.tasks[0]?.resources ?? {};
  const inflated = Math.ceil((truth[kind] as number) * (1.1 + random.next() * 2));
  return { ...setup, parties: [partyOf({ ...truth, [kind]: inflated }, first.tasks.length), ...others] };
}

/**
 * Over time and not at one moment, where the last task that happens to fit or not decides: all tasks take the same time, and
 * what counts is how many of the first party's were done by the end.
 */
async function helps(truth: Contest, lied: Contest): Promise<boolean> {
  const [honest, dishonest] = [await doneByFirst(truth), await doneByFirst(lied)];
  return dishonest > honest;
}

const ROUNDS = 10;
const TASK_MS = 1_000;

async function doneByFirst(setup: Contest): Promise<number> {
  const parties = setup.parties.map(({ tasks }) => partyOf(tasks[0]?.resources ?? {}, tasks.length * ROUNDS, TASK_MS));
  const stays = await contest({ ...setup, parties, until: ROUNDS * TASK_MS });
  return stays.filter(({ party, end, start }) => party === 0 && end - start === TASK_MS).length;
}

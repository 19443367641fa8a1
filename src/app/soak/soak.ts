/** `rota soak`: the fault simulator for as long as it is asked to run, and what it has found. */
import { type Millis, millis } from "../../domain/time.ts";
import { systemClock } from "../../effects/clock.ts";
import { memoryInUse } from "../../effects/machine.ts";
import { type Campaign, runCampaign } from "../../simulate/faults/campaign.ts";
import type { Limits, StoreKind } from "../../simulate/faults/seed/scenario.ts";
import { replayCommand, shrink } from "../../simulate/faults/shrink.ts";
import { type Trial, tryOut } from "../../simulate/faults/trial.ts";
import type { RealReport } from "../../views/simulation/soak.ts";
import { type RealOptions, soakForReal } from "./real.ts";

export interface SoakOptions {
  readonly firstSeed: number;
  /** How long it may take, and how many seeds; it ends at the first of the two. */
  readonly within: Millis;
  readonly seeds: number | undefined;
  readonly store: StoreKind;
  readonly signal: AbortSignal;
  /** Half of the time goes to a real daemon, which is killed again and again. */
  readonly real?: Pick<RealOptions, "program" | "env">;
  /** Called now and then with the progress. */
  readonly progress?: (seeds: number, failures: number) => void;
}

export interface SoakReport {
  readonly campaign: Campaign;
  readonly took: Millis;
  /** How many bytes more the program uses than after its warm-up. */
  readonly growth: number;
  readonly memory: number;
  /** In how many seeds nothing could go on any more. */
  readonly deadlocks: number;
  readonly doubled: number;
  readonly failures: readonly SoakFailure[];
  readonly real?: RealReport;
}

export interface SoakFailure {
  readonly seed: number;
  readonly law: string;
  /** The command that plays the smallest case again. */
  readonly command: string;
}

/** The seeds until the program has reached its speed and its size. */
const WARM_UP = 100;
/** How many failures are made smaller; the others are only named. */
const SHRUNK_MAX = 3;

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { firstSeed, seeds, store, signal, progress } = options;
  const within = options.real === undefined ? options.within : millis(options.within / 2);
  const clock = systemClock();
  const since = clock.now();
  let warm: number | undefined;
  let failed = 0;
  const campaign = await runCampaign({
    firstSeed,
    store,
    goesOn: (count) => {
      progress?.(count, failed);
      if (count === WARM_UP) warm = memoryInUse();
      return !signal.aborted && (seeds === undefined || count < seeds) && clock.now() - since < within;
    },
    tried: ({ violations }) => {
      if (violations.length > 0) failed++;
    },
  });
  const memory = memoryInUse();
  const real = options.real && (await soakForReal({ ...options.real, within, seed: firstSeed, signal }));
  return {
    campaign,
    took: millis(clock.now() - since),
    memory,
    growth: memory - (warm ?? memory),
    deadlocks: count(campaign, STILL),
    doubled: count(campaign, TWICE),
    failures: await explain(campaign, store),
    ...(real && { real }),
  };
}

/** One seed again, whole or in part, with its whole trace. */
export const replay = (seed: number, limits: Limits): Promise<Trial> => tryOut(seed, limits, true);

const STILL = /nothing has happened|not everything has ended|stands still/;
const TWICE = /twice|still runs|has it already|it had succeeded/;
const count = ({ failures }: Campaign, kind: RegExp): number => failures.filter(({ law }) => kind.test(law)).length;

async function explain({ failures }: Campaign, store: StoreKind): Promise<readonly SoakFailure[]> {
  const explained: SoakFailure[] = [];
  for (const { seed, law } of failures) {
    const limits = explained.length < SHRUNK_MAX ? (await shrink(seed, { store })).limits : { store };
    explained.push({ seed, law, command: replayCommand(seed, limits) });
  }
  return explained;
}

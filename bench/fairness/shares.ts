/** F1, F2, F3 and F5: what each party gets while every party has something to do. */
import { contest, type Stay } from "./contest.ts";
import {
  backloggedUntil,
  jain,
  mean,
  quantile,
  serviceByCell,
  serviceError,
  targetsOf,
  windowShares,
  worstError,
} from "./measures.ts";
import { type Scenario, scenario } from "./scenarios.ts";

export interface ShareFigures {
  readonly scenario: string;
  readonly tasks: number;
  /** Length of a window, in mean tasks. */
  readonly window: number;
  readonly windows: number;
  /** Part of the service that went to the wrong party. */
  readonly error: { readonly mean: number; readonly p95: number };
  /** How far the worst treated party is off, in windows of 50 and of 200 mean tasks. */
  readonly worst50: number;
  readonly worst200: number;
  readonly jainP5: number;
  /** The longest time that a party with waiting tasks went without a start, over the time it may. */
  readonly longestWait: number;
}

/** Windows overlap: each begins a tenth of its length after the one before. */
const CELLS = 10;
const TASKS_MIN = 50;
const SMALLEST_TASKS_MIN = 20;

export async function measureShares(
  name: string,
  workers: number,
  windows: number,
  seed: number,
): Promise<ShareFigures> {
  const { meanMs, smallestEveryMs } = scenario(name, workers, 1, seed);
  const windowMs = Math.max(TASKS_MIN * meanMs, SMALLEST_TASKS_MIN * smallestEveryMs);
  const chosen = scenario(name, workers, Math.max(windows * windowMs, (windows / 2) * 200 * meanMs), seed);
  const { setup } = chosen;
  const stays = await contest(setup);
  const until = backloggedUntil(setup, stays);
  const targets = targetsOf(setup.parties);
  const sharesIn = (ms: number) => windowShares(serviceByCell(setup, stays, ms / CELLS, until), CELLS);
  const shares = sharesIn(windowMs);
  const errors = shares.map((each) => serviceError(each, targets));
  const worst = (ms: number): number =>
    quantile(
      sharesIn(ms).map((each) => worstError(each, targets)),
      0.95,
    );
  return {
    scenario: name,
    tasks: stays.length,
    window: windowMs / meanMs,
    windows: shares.length,
    error: { mean: mean(errors), p95: quantile(errors, 0.95) },
    worst50: worst(50 * meanMs),
    worst200: worst(200 * meanMs),
    jainP5: quantile(
      shares.map((each) => jain(each, targets)),
      0.05,
    ),
    longestWait: longestWait(chosen, stays, until, windowMs),
  };
}

/** Of (1/w)·(longest task)/workers and one window. */
function longestWait({ setup, longestMs }: Scenario, stays: readonly Stay[], until: number, windowMs: number): number {
  const targets = targetsOf(setup.parties);
  const last = setup.parties.map(() => 0);
  let worst = 0;
  for (const { party, start } of stays) {
    if (start > until) break;
    const allowed = longestMs / (targets[party] as number) / setup.workers + windowMs;
    worst = Math.max(worst, (start - (last[party] as number)) / allowed);
    last[party] = start;
  }
  return worst;
}

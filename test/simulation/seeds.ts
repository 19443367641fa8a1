/** Seeds that a test tries out, on each store: `SEEDS=20000 SEED=5000` for more of them, and others; `STORE=sqlite` for one store. */
import { expect, test } from "vitest";
import { STORE_KINDS, type StoreKind } from "../../src/simulate/faults/seed/scenario.ts";
import { replayCommand, shrink } from "../../src/simulate/faults/shrink.ts";
import { tryOut } from "../../src/simulate/faults/trial.ts";

const FIRST = Number(process.env["SEED"] ?? 1);
/** On files a seed takes three times as long. */
const COUNTS: Readonly<Record<StoreKind, number>> = { memory: 2_200, sqlite: 400 };
/** Two files share them, so that both cores have something to do. */
const PARTS = 2;

export function trySeeds(part: number): void {
  for (const store of STORE_KINDS.filter((kind) => (process.env["STORE"] ?? kind) === kind)) {
    const count = Number(process.env["SEEDS"] ?? COUNTS[store]);
    const seeds = Array.from({ length: count }, (_, at) => FIRST + at).filter((seed) => seed % PARTS === part);
    const range = `SEED=${FIRST} to ${FIRST + count - 1}, part ${part}`;
    test(`on ${store}, no law is broken under any of ${seeds.length} seeds (${range})`, async () => {
      for (const seed of seeds) {
        const { violations } = await tryOut(seed, { store });
        if (violations.length > 0) expect.fail(await story(seed, store, violations));
      }
    }, 3_600_000);
  }
}

async function story(seed: number, store: StoreKind, violations: readonly string[]): Promise<string> {
  const { limits, trial } = await shrink(seed, { store });
  return [...violations.slice(0, 3), `Smallest: ${trial.violations[0]}`, replayCommand(seed, limits)].join("\n");
}

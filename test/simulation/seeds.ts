/** Seeds that a test tries out: `SEEDS=20000 SEED=5000` for more of them, and others. */
import { expect, test } from "vitest";
import { replayCommand, shrink } from "../../src/simulate/faults/shrink.ts";
import { tryOut } from "../../src/simulate/faults/trial.ts";

const FIRST = Number(process.env["SEED"] ?? 1);
const COUNT = Number(process.env["SEEDS"] ?? 2_200);
/** Two files share them, so that both cores have something to do. */
const PARTS = 2;

export function trySeeds(part: number): void {
  const seeds = Array.from({ length: COUNT }, (_, at) => FIRST + at).filter((seed) => seed % PARTS === part);
  const last = FIRST + COUNT - 1;
  test(`no law is broken under any of ${seeds.length} seeds (SEED=${FIRST} to ${last}, part ${part})`, async () => {
    for (const seed of seeds) {
      const { violations } = await tryOut(seed);
      if (violations.length > 0) expect.fail(await story(seed, violations));
    }
  }, 3_600_000);
}

async function story(seed: number, violations: readonly string[]): Promise<string> {
  const { limits, trial } = await shrink(seed);
  return [...violations.slice(0, 3), `Smallest: ${trial.violations[0]}`, replayCommand(seed, limits)].join("\n");
}

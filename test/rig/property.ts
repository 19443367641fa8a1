/** Properties over many random cases. `SEED=17 npx vitest run …` plays the same cases again; a failure prints its seed. */
import fc from "fast-check";
import { vi } from "vitest";

// Many cases take their time, the more so on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const seed = process.env.SEED;

/** Checks the property on `runs` cases. */
export async function always(runs: number, property: fc.IRawProperty<unknown>): Promise<void> {
  await fc.assert(property, { numRuns: runs, ...(seed !== undefined && { seed: Number(seed) }) });
}

/**
 * Properties over many random cases, the same ones every time. `SEED=18 npx vitest run …` plays others, `CASES=100` a hundred times as many; a
 * failure prints its seed.
 */
import fc from "fast-check";
import { vi } from "vitest";

const SEED = Number(process.env["SEED"] ?? 17);
const CASES = Number(process.env["CASES"] ?? 1);

// Many cases take their time, the more so on a busy machine.
vi.setConfig({ testTimeout: 60_000 * Math.max(1, CASES) });

/** Checks the property on `runs` cases. */
export async function always(runs: number, property: fc.IRawProperty<unknown>): Promise<void> {
  await fc.assert(property, { numRuns: Math.ceil(runs * CASES), seed: SEED });
}

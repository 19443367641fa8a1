/** Looks for the planted bugs that are named, or for all, and prints for each, on each store, which seed found it, as lines of JSON. */
import type { StoreKind } from "../../src/simulate/faults/seed/scenario.ts";
import { loadWith, type Simulator } from "./plant.ts";
import { PLANTED_BUGS, type PlantedBug } from "./planted.ts";

const SHRINKS = "--shrink";
const words = process.argv.slice(2);
const names = words.filter((word) => word !== SHRINKS);

for (const name of names.length > 0 ? names : Object.keys(PLANTED_BUGS)) {
  const planted = PLANTED_BUGS[name] as PlantedBug;
  const simulator = await loadWith(name, planted);
  let from = 1;
  for (const store of planted.stores) {
    const found = await seek(simulator, planted, store, from);
    console.log(JSON.stringify({ name, store, ...found }));
    from = found.seed;
  }
}
// Simulations that were broken off leave promises behind that never settle.
process.exit(0);

async function seek(simulator: Simulator, planted: PlantedBug, store: StoreKind, from: number) {
  const { tryOut, shrink, replayCommand } = simulator;
  const since = performance.now();
  const took = (): number => Math.round(performance.now() - since);
  // What one store shows under a seed the other mostly shows, too; and memory is looked at much sooner.
  const first = planted.stores[0] as StoreKind;
  for (let seed = from; seed <= planted.seeds; seed++) {
    if (store !== first && (await tryOut(seed, { store: first })).violations.length === 0) continue;
    const { violations } = await tryOut(seed, { store });
    if (violations.length === 0) continue;
    const command = words.includes(SHRINKS) ? replayCommand(seed, (await shrink(seed, { store })).limits) : undefined;
    return { seed, ms: took(), found: violations[0]?.split("\n")[0], command };
  }
  return { seed: planted.seeds, ms: took() };
}

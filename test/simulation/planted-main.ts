/** Looks for the planted bugs that are named, or for all, and prints for each how many seeds it took, as lines of JSON. */
import { loadWith } from "./plant.ts";
import { PLANTED_BUGS, type PlantedBug } from "./planted.ts";

const SHRINKS = "--shrink";
const words = process.argv.slice(2);
const names = words.filter((word) => word !== SHRINKS);

for (const name of names.length > 0 ? names : Object.keys(PLANTED_BUGS)) {
  console.log(JSON.stringify({ name, ...(await seek(name, PLANTED_BUGS[name] as PlantedBug)) }));
}
// Simulations that were broken off leave promises behind that nobody will keep.
process.exit(0);

async function seek(name: string, planted: PlantedBug): Promise<object> {
  const { tryOut, shrink, replayCommand } = await loadWith(name, planted);
  const since = performance.now();
  const took = (): number => Math.round(performance.now() - since);
  for (let seed = 1; seed <= planted.seeds; seed++) {
    const { violations } = await tryOut(seed);
    if (violations.length === 0) continue;
    const command = words.includes(SHRINKS) ? replayCommand(seed, (await shrink(seed)).limits) : undefined;
    return { seeds: seed, ms: took(), found: violations[0]?.split("\n")[0], command };
  }
  return { seeds: planted.seeds, ms: took() };
}

/** What running processes costs, as whole commands: Rota beside a bare loop and beside the programs people use for this. */
import { nx, turbo, wireit } from "../peers/contenders.ts";
import { atLeast, atMost, type Bench, type Goal, machine } from "../rig.ts";
import { buildIfStale } from "./build.ts";
import { Scratch } from "./command.ts";
import { AT_ONCE, floor, make, ninja, rota } from "./contenders.ts";
import { chain, type Graph, independent, layered } from "./graphs.ts";
import { type Race, race } from "./race.ts";

/** A chain has one task at a time, so nothing is done beside it. */
const FLOOR_RATIO_MAX: Readonly<Record<string, number>> = { independent: 1.5, layered: 1.5, chain: 1.7 };
const PEER_RATIO_MIN = 1.5;

export const bench: Bench = async ({ quick }) => {
  buildIfStale();
  using scratch = new Scratch();
  const graphs: Readonly<Record<string, Graph>> = quick
    ? { independent: independent(60), chain: chain(20), layered: layered(5, 12) }
    : { independent: independent(1_000), chain: chain(200), layered: layered(10, 100) };
  const contenders = [floor, rota("rota"), rota("rota, durability normal", { ROTA_DURABILITY: "normal" }), make, ninja];
  const races: Record<string, Race> = {};
  const goals: Goal[] = [];
  for (const [name, graph] of Object.entries(graphs)) {
    const options = { rounds: quick ? 1 : 5, references: ["floor", "rota"], scratch };
    const result = await race(graph, [...contenders, wireit], options);
    races[name] = result;
    const most = FLOOR_RATIO_MAX[name] ?? Number.NaN;
    goals.push(atMost(`${name}: rota ÷ floor`, result.ratios.rota?.floor ?? Number.NaN, most));
    goals.push(...beside(name, result, ["wireit"]));
  }
  const packages = quick ? independent(8) : independent(200);
  const options = { rounds: quick ? 1 : 2, references: ["floor", "rota"], scratch };
  races.packages = await race(packages, [floor, rota("rota"), nx, turbo], options);
  goals.push(...beside("packages", races.packages, ["nx", "turbo"]));
  return { machine: machine(), goals, results: { atOnce: AT_ONCE, races, leftRunning: scratch.leftRunning } };
};

/** One goal for each of these that took part. */
function beside(name: string, { ratios }: Race, peers: readonly string[]): readonly Goal[] {
  return peers.flatMap((peer) => {
    const ratio = ratios[peer]?.rota;
    return ratio === undefined ? [] : [atLeast(`${name}: ${peer} ÷ rota`, ratio, PEER_RATIO_MIN)];
  });
}

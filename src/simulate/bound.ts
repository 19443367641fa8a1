/** What no schedule can be faster than: the longest chain, the work shared out, and what each resource can bear. */
import { upwardRanks } from "../decide/order/rank.ts";
import type { LowerBound } from "../domain/durations/schedule.ts";
import type { Graph } from "../domain/graph.ts";
import type { Amounts, TaskSpec } from "../domain/spec.ts";
import { type Millis, millis } from "../domain/time.ts";
import type { SiteSpec } from "./simulate.ts";

interface Work {
  readonly specs: readonly TaskSpec[];
  readonly graph: Graph;
  readonly durations: readonly Millis[];
}

/** The best of the known bounds: each holds for every schedule, so the largest does. */
export function lowerBound({ specs, graph, durations }: Work, site: SiteSpec): LowerBound {
  const path = upwardRanks(graph, Float64Array.from(durations)).reduce((most, rank) => Math.max(most, rank), 0);
  const found: (readonly [number, LowerBound["because"]])[] = [
    [path, { kind: "path" }],
    ...workBounds(specs, durations, site),
  ];
  for (const [name, ms] of resourceBounds(specs, durations, site)) found.push([ms, { kind: "resource", name }]);
  const isWhole = durations.every(Number.isInteger);
  return found
    .map(([ms, because]) => ({ ms: roundedUp(ms, isWhole), because }))
    .reduce((best, each) => (each.ms > best.ms ? each : best));
}

/** The work of each pool, shared out over the workers or sessions of that pool. */
function* workBounds(
  specs: readonly TaskSpec[],
  durations: readonly Millis[],
  { workers, nodes, pools }: SiteSpec,
): Iterable<readonly [number, LowerBound["because"]]> {
  const work = new Map<string | undefined, number>([[undefined, 0]]);
  for (const [no, { pool }] of specs.entries()) work.set(pool, (work.get(pool) ?? 0) + (durations[no] as number));
  for (const [pool, ms] of work) {
    if (pool === undefined) yield [ms / (workers * nodes), { kind: "work" }];
    else if (Object.hasOwn(pools, pool)) yield [ms / (pools[pool] as number), { kind: "pool", name: pool }];
  }
}

/** The rounding error of sums of many amounts, as a share of them. */
const SLACK = 1e-9;

/** Tasks that take whole milliseconds end at whole milliseconds. A bound may be a little too small, and never too large. */
const roundedUp = (ms: number, isWhole: boolean): Millis =>
  millis(isWhole ? Math.ceil(ms * (1 - SLACK)) : ms * (1 - SLACK));

interface Demand {
  /** Amounts times the span for which they are held. */
  energy: number;
  /** The part of that which local tasks ask for: what sessions do takes nothing of these machines. */
  local: number;
  amount: number;
  shortest: number;
}

function* resourceBounds(
  specs: readonly TaskSpec[],
  durations: readonly Millis[],
  { nodes, capacity, resources, rates }: SiteSpec,
): Iterable<readonly [string, number]> {
  for (const [name, { energy, local, amount, shortest }] of demands(specs, durations)) {
    const there = amountOf(capacity, name);
    if (there !== undefined && there > 0) yield [name, local / (there * nodes)];
    const own = amountOf(resources, name);
    if (own !== undefined && own > 0) yield [name, energy / own];
    const rate = Object.hasOwn(rates, name) ? rates[name] : undefined;
    // The first amount is there at once; the rest must have come in before the last task that takes some starts.
    if (rate !== undefined && amount > rate.amount) {
      yield [name, Math.floor(((amount - rate.amount) * rate.per) / rate.amount) + shortest];
    }
  }
}

const amountOf = (amounts: Amounts, name: string): number | undefined =>
  Object.hasOwn(amounts, name) ? amounts[name] : undefined;

function demands(specs: readonly TaskSpec[], durations: readonly Millis[]): ReadonlyMap<string, Demand> {
  const found = new Map<string, Demand>();
  for (const [no, { resources, pool }] of specs.entries()) {
    for (const name in resources) {
      const asked = resources[name] as number;
      if (asked === 0) continue;
      const demand = found.get(name) ?? { energy: 0, local: 0, amount: 0, shortest: Number.POSITIVE_INFINITY };
      const lasts = durations[no] as number;
      demand.energy += asked * lasts;
      if (pool === undefined) demand.local += asked * lasts;
      demand.amount += asked;
      demand.shortest = Math.min(demand.shortest, lasts);
      found.set(name, demand);
    }
  }
  return found;
}

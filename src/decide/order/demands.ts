/** What tasks ask for and how much of it there is, in flat arrays, as the play of a run needs it. */
import type { Resource } from "../room/room.ts";
import type { Shape } from "../room/shapes.ts";

export interface Demands {
  /** How many kinds of things can run short, workers first, how much of each there is, and what each task asks for, task by task. */
  readonly kinds: number;
  readonly free: Float64Array;
  readonly asks: Float64Array;
}

/** What there is to work with, and how much of each part of it counts. */
export interface Supply {
  readonly workers: number;
  readonly resources: Iterable<Resource>;
  readonly amountIn: (resource: Resource) => number;
}

/** The kind that every task asks one of. */
const WORKERS = 0;

/** Several machines count as a single machine that has everything they have. Rates are left out: they fill up again by themselves. */
export function demandsOf(shapes: readonly Shape[], { workers, resources, amountIn }: Supply): Demands {
  const demands = new Map([...new Set(shapes)].map((shape) => [shape, lastingDraws(shape)]));
  const kindOf = new Map<string, number>([["workers", WORKERS]]);
  for (const each of demands.values()) {
    for (const { resource } of each) if (!kindOf.has(resource.name)) kindOf.set(resource.name, kindOf.size);
  }
  const kinds = kindOf.size;
  const free = new Float64Array(kinds);
  free[WORKERS] = workers;
  for (const resource of resources) {
    const kind = kindOf.get(resource.name);
    if (kind !== undefined) free[kind] = (free[kind] as number) + amountIn(resource);
  }
  const asks = new Float64Array(shapes.length * kinds);
  for (const [place, shape] of shapes.entries()) {
    asks[place * kinds + WORKERS] = 1;
    for (const { resource, amount } of demands.get(shape) ?? []) {
      asks[place * kinds + (kindOf.get(resource.name) as number)] = amount;
    }
  }
  return { kinds, free, asks };
}

const lastingDraws = ({ own, placements }: Shape) =>
  [...own, ...(placements[0]?.demands ?? [])].filter(({ resource }) => resource.refill === undefined);

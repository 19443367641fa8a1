/**
 * List scheduling as the books have it, without engine or dispatcher: whatever fits goes, the longest remaining path first. What
 * everything that plans is measured against, so that planning is never worse than not doing so.
 */
import { estimate } from "../../src/decide/order/estimates.ts";
import { upwardRanks } from "../../src/decide/order/rank.ts";
import { buildGraph } from "../../src/domain/graph.ts";
import type { Amounts, TaskSpec } from "../../src/domain/spec.ts";
import { type Belief, type Schedule, tell } from "./drive.ts";
import type { Instance } from "./instances.ts";

export function greedy({ specs, resources, workers }: Instance, belief: Belief): Schedule {
  const starts = new Float64Array(specs.length).fill(Number.NaN);
  const ends = new Float64Array(specs.length).fill(Number.NaN);
  const numbers = new Map(specs.map(({ id }, no) => [id, no]));
  const free: Record<string, number> = { ...resources, workers };
  const waiting = byLongestPath(specs, belief);
  const out = new Set<number>();
  for (let now = 0; waiting.length + out.size > 0; now = Math.min(...[...out].map((no) => ends[no] as number))) {
    for (const no of [...out].filter((each) => ends[each] === now)) {
      out.delete(no);
      move(free, specs[no] as TaskSpec, 1);
    }
    const hasEnded = (no: number): boolean => (ends[no] as number) <= now;
    for (const no of [...waiting]) {
      const spec = specs[no] as TaskSpec;
      if (!spec.needs.every((need) => hasEnded(numbers.get(need) as number)) || !fits(free, spec)) continue;
      waiting.splice(waiting.indexOf(no), 1);
      out.add(no);
      move(free, spec, -1);
      starts[no] = now;
      ends[no] = now + (spec.estimate ?? 0);
    }
  }
  return { starts, ends };
}

function byLongestPath(specs: readonly TaskSpec[], { estimates, error }: Belief): number[] {
  const told = specs.map((spec, no) => tell(spec, estimates[no]));
  const ranks = upwardRanks(buildGraph(specs), estimate(told, () => undefined, error).costs);
  return [...ranks.keys()].sort((a, b) => (ranks[b] as number) - (ranks[a] as number) || a - b);
}

const asked = ({ resources }: TaskSpec): Amounts => ({ ...resources, workers: 1 });

const fits = (free: Amounts, spec: TaskSpec): boolean =>
  Object.entries(asked(spec)).every(([name, amount]) => amount <= (free[name] ?? 0));

function move(free: Record<string, number>, spec: TaskSpec, sign: 1 | -1): void {
  for (const [name, amount] of Object.entries(asked(spec))) free[name] = (free[name] ?? 0) + sign * amount;
}

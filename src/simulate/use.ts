/** How much of the resources a schedule uses: each worker's time, and each resource over time. */
import type { Placement, ResourceUse, WorkerUse } from "../domain/durations/schedule.ts";
import type { Amounts, TaskSpec } from "../domain/spec.ts";
import { type Millis, millis } from "../domain/time.ts";
import { sessionsOf } from "./sessions.ts";
import { type SiteSpec, workersAt } from "./simulate.ts";

/** Every worker, also those without a task. */
export function workerUse(schedule: readonly Placement[], site: SiteSpec, makespan: Millis): readonly WorkerUse[] {
  const found = new Map(workersAt(site).map((worker) => [worker, { tasks: 0, busy: 0 }]));
  for (const { worker, start, end } of schedule) {
    const of = found.get(worker) as { tasks: number; busy: number };
    of.tasks++;
    of.busy += end - start;
  }
  const pools = new Map(sessionsOf(site.pools));
  return Array.from(found, ([worker, { tasks, busy }]) => ({
    worker,
    ...(pools.has(worker) && { pool: pools.get(worker) as string }),
    tasks,
    busy: millis(busy),
    use: share(busy, makespan),
  }));
}

/** The resources that some task asks for: first those of the machines, then those of the plan. */
export function resourceUse(
  specs: readonly TaskSpec[],
  schedule: readonly Placement[],
  { nodes, capacity, resources, rates }: SiteSpec,
  makespan: Millis,
): readonly ResourceUse[] {
  const { energy, amounts } = taken(specs, schedule);
  // What sessions do takes nothing of these machines.
  const local = taken(
    specs,
    schedule.filter(({ no }) => specs[no]?.pool === undefined),
  ).energy;
  const kept = (of: Amounts, times: number, energy: ReadonlyMap<string, number>): readonly ResourceUse[] =>
    Object.entries(of).flatMap(([name, each]) => {
      const used = energy.get(name);
      const there = each * times;
      return used === undefined ? [] : [{ name, capacity: there, use: share(used, there * makespan) }];
    });
  const renewed = Object.entries(rates).flatMap(([name, { amount, per }]): readonly ResourceUse[] => {
    const used = amounts.get(name);
    return used === undefined ? [] : [{ name, capacity: amount, per, use: share(used, amount * (1 + makespan / per)) }];
  });
  return [...kept(capacity, nodes, local), ...kept(resources, 1, energy), ...renewed];
}

/** How much was taken of each resource, and that amount times the time for which it was held. */
function taken(specs: readonly TaskSpec[], schedule: readonly Placement[]) {
  const energy = new Map<string, number>();
  const amounts = new Map<string, number>();
  for (const { no, start, end } of schedule) {
    const { resources } = specs[no] as TaskSpec;
    for (const name in resources) {
      const asked = resources[name] as number;
      energy.set(name, (energy.get(name) ?? 0) + asked * (end - start));
      amounts.set(name, (amounts.get(name) ?? 0) + asked);
    }
  }
  return { energy, amounts };
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : Math.min(1, part / whole));

/** Looks for what no schedule may do, from the instance alone: it trusts neither the engine nor the dispatcher. */
import type { Schedule } from "./drive.ts";
import { type Instance, UNIT_MS } from "./instances.ts";

/** Sums of durations are not exact. */
const TINY = 1e-6;

export function violationsOf(instance: Instance, schedule: Schedule): readonly string[] {
  return [
    ...durationsKept(instance, schedule),
    ...needsKept(instance, schedule),
    ...capacitiesKept(instance, schedule),
    ...boundKept(instance, schedule),
  ];
}

/** In the units of the instance. */
export const makespanOf = ({ ends }: Schedule): number => ends.reduce((last, end) => Math.max(last, end), 0) / UNIT_MS;

function durationsKept({ specs }: Instance, { starts, ends }: Schedule): string[] {
  // Written so that what never ran, and has no times, is found as well.
  return specs.flatMap(({ id, estimate }, no) =>
    (ends[no] as number) - (starts[no] as number) === estimate ? [] : [`${id} took another time than it takes`],
  );
}

function needsKept({ specs }: Instance, { starts, ends }: Schedule): string[] {
  const numbers = new Map(specs.map(({ id }, no) => [id, no]));
  return specs.flatMap(({ id, needs }, no) =>
    needs
      .filter((need) => (starts[no] as number) < (ends[numbers.get(need) as number] as number))
      .map((need) => `${id} began before ${need} had ended`),
  );
}

/** At every instant: what is taken changes only where something begins or ends, and ends come first. */
function capacitiesKept({ specs, resources, workers }: Instance, { starts, ends }: Schedule): string[] {
  const free: Record<string, number> = { ...resources, workers };
  const moments = specs.flatMap(({ resources: asked }, no) => {
    const all = { ...asked, workers: 1 };
    const [start, end] = [starts[no] as number, ends[no] as number];
    // What takes no time takes no room.
    if (start === end) return [];
    return [
      { at: start, sign: -1, asked: all },
      { at: end, sign: 1, asked: all },
    ];
  });
  const found: string[] = [];
  for (const { at, sign, asked } of moments.sort((a, b) => a.at - b.at || b.sign - a.sign)) {
    for (const [name, amount] of Object.entries(asked)) {
      const left = (free[name] ?? 0) + sign * amount;
      free[name] = left;
      if (left < 0) found.push(`more ${name} than there is at ${at}`);
    }
  }
  return found;
}

function boundKept({ lowerBound }: Instance, schedule: Schedule): string[] {
  const makespan = makespanOf(schedule);
  return makespan < lowerBound * (1 - TINY) ? [`${makespan} is below the lower bound of ${lowerBound}`] : [];
}

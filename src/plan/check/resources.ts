/** Requests that can never be met: the user is told before the plan runs. */

import { formatBytes } from "../../domain/amounts/size.ts";
import { type TaskNo, taskNo } from "../../domain/graph.ts";
import { type Amounts, type Rates, SPEC_DEFAULTS, type TaskSpec } from "../../domain/spec.ts";

export interface Impossible {
  readonly task: TaskNo;
  readonly resource: string;
  readonly asked: number;
  /** The most there will ever be. */
  readonly available: number;
}

interface Demand {
  readonly tasks: readonly TaskSpec[];
  readonly resources: Amounts;
  readonly rates: Rates;
}

/** Every request of the plan that is larger than what the plan declares and what `capacity` has. A resource that neither knows counts as zero. */
export const impossible = (plan: Demand, capacity: Amounts): readonly Impossible[] =>
  tooLarge(plan.tasks, (name) => ownLimit(plan, name, amountOf(capacity, name)) ?? 0);

/** As `impossible`, for the capacities that the plan itself names; others may come from elsewhere. */
export const impossibleByItself = (plan: Demand): readonly Impossible[] =>
  tooLarge(plan.tasks, (name) => ownLimit(plan, name, undefined));

/** How a message says it. */
export function describeImpossible({ resource, asked, available }: Impossible): string {
  return `asks for ${formatAmount(resource, asked)} of ${resource}, but there is never more than ${formatAmount(resource, available)}`;
}

function tooLarge(tasks: readonly TaskSpec[], limitOf: (name: string) => number | undefined): readonly Impossible[] {
  const found: Impossible[] = [];
  for (let no = 0; no < tasks.length; no++) {
    const { resources } = tasks[no] as TaskSpec;
    if (resources === SPEC_DEFAULTS.resources) continue;
    for (const [resource, asked] of Object.entries(resources)) {
      const available = limitOf(resource);
      if (available !== undefined && asked > available) found.push({ task: taskNo(no), resource, asked, available });
    }
  }
  return found;
}

/** The smaller of what the plan and the machine say. One task can ask for no more of a rate than one period brings. */
function ownLimit(plan: Demand, name: string, elsewhere: number | undefined): number | undefined {
  const rate = Object.hasOwn(plan.rates, name) ? plan.rates[name]?.amount : undefined;
  const own = rate ?? amountOf(plan.resources, name);
  if (own === undefined || elsewhere === undefined) return own ?? elsewhere;
  return Math.min(own, elsewhere);
}

const amountOf = (amounts: Amounts, name: string): number | undefined =>
  Object.hasOwn(amounts, name) ? amounts[name] : undefined;

function formatAmount(resource: string, amount: number): string {
  if (resource === "memory") return formatBytes(amount);
  return resource === "cpu" ? String(amount / 1000) : String(amount);
}

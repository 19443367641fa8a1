/** Makes a failing seed smaller: fewer plans, tasks, sessions and kinds of faults, and less time, as long as it still fails. */
import { millis } from "../../domain/time.ts";
import { FAULT_KINDS, type FaultKind } from "./seed/fault-kinds.ts";
import { type Limits, scenarioOf } from "./seed/scenario.ts";
import { type Trial, tryOut } from "./trial.ts";

/** Tries in all: each is a whole simulation. */
const TRIES_MAX = 60;

export interface Shrunk {
  readonly limits: Limits;
  readonly trial: Trial;
}

/** The smallest failing case that was found. Any failure counts: the first broken law may be another one then. */
export async function shrink(seed: number, from: Limits = {}): Promise<Shrunk> {
  let best: Shrunk = { limits: from, trial: await tryOut(seed, from) };
  let tries = 0;
  for (let isSmaller = true; isSmaller && tries < TRIES_MAX; ) {
    isSmaller = false;
    for (const limits of smaller(seed, best.limits)) {
      if (++tries > TRIES_MAX) break;
      const trial = await tryOut(seed, limits);
      if (trial.violations.length === 0) continue;
      best = { limits, trial };
      isSmaller = true;
      break;
    }
  }
  return best;
}

/** What could be left out next, the largest part first. */
function* smaller(seed: number, limits: Limits): Iterable<Limits> {
  const scenario = scenarioOf(seed, limits);
  const kinds = FAULT_KINDS.filter((kind) => scenario.faults[kind] !== undefined);
  const without = (more: readonly FaultKind[]): Limits => ({
    ...limits,
    without: [...(limits.without ?? []), ...more],
  });
  if (kinds.length > 1) {
    yield without(kinds.slice(0, Math.ceil(kinds.length / 2)));
    yield without(kinds.slice(Math.ceil(kinds.length / 2)));
  }
  const tasks = Math.max(...scenario.plans.map(({ specs }) => specs.length));
  if (tasks > 1) yield { ...limits, tasks: Math.ceil(tasks / 2) };
  if (scenario.plans.length > 1) yield { ...limits, plans: scenario.plans.length - 1 };
  if (scenario.sessions.length > 0) yield { ...limits, sessions: scenario.sessions.length - 1 };
  if (scenario.span > 5_000) yield { ...limits, span: millis(Math.floor(scenario.span / 2)) };
  for (const kind of kinds) yield without([kind]);
  if (tasks > 1) yield { ...limits, tasks: tasks - 1 };
}

/** The command that plays it again. */
export function replayCommand(seed: number, { store, tasks, plans, sessions, without, span }: Limits): string {
  const words = [
    `rota soak --replay ${seed}`,
    ...(store === undefined ? [] : [`--store ${store}`]),
    ...(without === undefined ? [] : [`--without ${without.join(",")}`]),
    ...(tasks === undefined ? [] : [`--tasks ${tasks}`]),
    ...(plans === undefined ? [] : [`--plans ${plans}`]),
    ...(sessions === undefined ? [] : [`--sessions ${sessions}`]),
    ...(span === undefined ? [] : [`--span ${span}ms`]),
  ];
  return words.join(" ");
}

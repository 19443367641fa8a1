/** How far the schedules of a set are from the best that is known. */
import type { Policy } from "../../src/decide/order/look-ahead.ts";
import { round } from "../rig.ts";
import { makespanOf, violationsOf } from "./check.ts";
import { type Belief, drive, type Schedule } from "./drive.ts";
import { greedy } from "./greedy.ts";
import type { Instance } from "./instances.ts";

export interface Score {
  readonly instances: number;
  /** Of 100 · (makespan − best) / best. */
  readonly mean: number;
  readonly p95: number;
  readonly max: number;
  /** Share of the instances, in percent, whose best is reached. */
  readonly atBest: number;
  /** What no schedule may do: the first few, and how many there were. */
  readonly violations: number;
  readonly examples: readonly string[];
}

/** A policy of ours, or list scheduling without us. */
export type Contender = Policy | "greedy";

export type Scores = Readonly<Record<string, Score>>;

/** By set. */
export async function score(
  instances: readonly Instance[],
  believe: (instance: Instance) => Belief,
  contender: Contender,
): Promise<Scores> {
  const sets = Map.groupBy(instances, ({ set }) => set);
  const scores: Record<string, Score> = {};
  for (const [set, members] of sets) scores[set] = await scoreSet(members, believe, contender);
  return scores;
}

const EXAMPLES_MAX = 3;
/** Below this a makespan is the best one, and the rest is rounding. */
const TINY = 1e-6;

async function scoreSet(
  instances: readonly Instance[],
  believe: (instance: Instance) => Belief,
  contender: Contender,
): Promise<Score> {
  const gaps: number[] = [];
  const wrong: string[] = [];
  for (const instance of instances) {
    const schedule = await scheduleBy(contender, instance, believe(instance));
    gaps.push((100 * (makespanOf(schedule) - instance.best)) / instance.best);
    wrong.push(...violationsOf(instance, schedule).map((each) => `${instance.set} ${instance.name}: ${each}`));
  }
  gaps.sort((a, b) => a - b);
  return {
    instances: gaps.length,
    mean: round(gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length),
    p95: round(gaps[Math.ceil(gaps.length * 0.95) - 1] as number),
    max: round(gaps.at(-1) as number),
    atBest: round((100 * gaps.filter((gap) => gap < TINY).length) / gaps.length),
    violations: wrong.length,
    examples: wrong.slice(0, EXAMPLES_MAX),
  };
}

const scheduleBy = async (contender: Contender, instance: Instance, belief: Belief): Promise<Schedule> =>
  contender === "greedy" ? greedy(instance, belief) : drive(instance, belief, contender);

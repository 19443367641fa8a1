/** How good the schedules are: published instances through the real engine, against the best makespans that are known. */
import { atMost, type Bench, type BenchOptions, type Goal, machine } from "../rig.ts";
import { noisy, nothing, truth } from "./beliefs.ts";
import { type Instance, projects, taskGraphs, workflows } from "./instances.ts";
import { type Contender, type Scores, score } from "./score.ts";

/** Percent above the best known, by set: what plain list scheduling reaches, and what looking ahead should. */
const TRUE_DURATIONS = { j30: 4.6, j60: 5.4, j120: 10.8 };
const LOOKING_AHEAD = { j30: 2.5, j60: 3, j120: 6.5 };
const TASK_GRAPHS = { "stg50/p2": 1.3, "stg50/p4": 1.3, "stg50/p8": 1.3, "stg50/p16": 1.3 };
const WORKFLOWS = { "workflows/4": 7.8, "workflows/16": 9.5, "workflows/64": 7.6 };
const UNSURE = { j60: 6.1, j120: 12.1 };
const SIGMAS = [0, 0.3, 0.7, 1, 1.5];
/** Percentage points that any of our orders may be worse than list scheduling, however wrong the estimates are. */
const WORSE_MAX = 0.5;

export const bench: Bench = async (options) => {
  const sets = instancesOf(options);
  const unsure = sets.projects.filter(({ set }) => set in UNSURE);
  const plain = await score([...sets.projects, ...sets.graphs, ...sets.flows], truth, "plain");
  const ahead = await score([...sets.projects, ...sets.graphs], truth, "rollout");
  const auto = await score(sets.flows, truth, "auto");
  const noise = await score(unsure, noisy(1), "plain");
  const cold = await score(unsure, nothing, "plain");
  const sure = await robustness(sets.projects);
  const violations = violationsIn([plain, ahead, auto, noise, cold, ...sure.map(({ scores }) => scores)]);
  return {
    machine: machine(),
    goals: [
      ...held("Q1 true durations", plain, TRUE_DURATIONS),
      ...held("Q1 stretch, policy rollout", ahead, LOOKING_AHEAD),
      ...held("Q2 task graphs", plain, TASK_GRAPHS),
      ...held("Q3 workflows, policy plain", plain, WORKFLOWS),
      ...held("Q3 workflows, policy auto", auto, WORKFLOWS),
      ...held("Q4 estimates with σ = 1, shrunk", noise, UNSURE),
      ...held("Q5 no estimates", cold, UNSURE),
      ...worst(sure),
      atMost("Q8 violations", violations, 0),
    ],
    results: { plain, rollout: ahead, auto, noise, cold, robustness: sure },
  };
};

interface Instances {
  readonly projects: readonly Instance[];
  readonly graphs: readonly Instance[];
  readonly flows: readonly Instance[];
}

/** Projects come in groups that were made alike, of ten in j30 and five in the others here: a quick look takes one of each. */
function instancesOf({ data, quick }: BenchOptions): Instances {
  if (data === undefined) throw new Error("quality needs the published instances: --data DIR");
  const step = (set: string): number => (set === "j30" ? 10 : 5);
  return {
    projects: quick ? every(step, projects(data)) : projects(data),
    graphs: quick ? every(() => 9, taskGraphs(data)) : taskGraphs(data),
    flows: quick ? every(() => 5, workflows(data)) : workflows(data),
  };
}

/** One of every so many of each set. */
const every = (step: (set: string) => number, instances: readonly Instance[]): readonly Instance[] =>
  [...Map.groupBy(instances, ({ set }) => set)].flatMap(([set, members]) =>
    members.filter((_, at) => at % step(set) === 0),
  );

const held = (goal: string, scores: Scores, limits: Readonly<Record<string, number>>): readonly Goal[] =>
  Object.entries(limits).map(([set, limit]) =>
    atMost(`${goal}, ${set}, % above best`, scores[set]?.mean ?? Number.NaN, limit),
  );

interface Trial {
  readonly sigma: number;
  readonly policy: Contender;
  readonly scores: Scores;
}

async function robustness(instances: readonly Instance[]): Promise<readonly Trial[]> {
  const trials: Trial[] = [];
  for (const sigma of SIGMAS) {
    for (const policy of ["greedy", "plain", "rollout", "auto"] as const) {
      trials.push({ sigma, policy, scores: await score(instances, noisy(sigma), policy) });
    }
  }
  return trials;
}

function worst(trials: readonly Trial[]): readonly Goal[] {
  return trials.flatMap(({ sigma, policy, scores }) => {
    if (policy === "greedy") return [];
    const greedy = trials.find((each) => each.sigma === sigma && each.policy === "greedy")?.scores ?? {};
    const worse = Object.entries(scores).map(([set, { mean }]) => mean - (greedy[set]?.mean ?? Number.NaN));
    return [atMost(`Q7 σ = ${sigma}, ${policy} over greedy, worst set, points`, Math.max(...worse), WORSE_MAX)];
  });
}

const violationsIn = (all: readonly Scores[]): number =>
  all.flatMap((scores) => Object.values(scores)).reduce((sum, { violations }) => sum + violations, 0);

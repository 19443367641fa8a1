/** `rota simulate`: a plan on virtual time, with what is known about it, and with other workers or resources. */
import { existsSync } from "node:fs";
import { basename, dirname, resolve } from "node:path";
import { type History, NO_HISTORY } from "../../domain/durations/history.ts";
import { taskId } from "../../domain/ids.ts";
import { millis } from "../../domain/time.ts";
import { machineCapacity } from "../../effects/machine.ts";
import type { Plan } from "../../plan/plan.ts";
import { lowerBound } from "../../simulate/bound.ts";
import { criticalPath } from "../../simulate/critical-path.ts";
import { type Simulated, type SiteSpec, simulate, workersAt } from "../../simulate/simulate.ts";
import { resourceUse, workerUse } from "../../simulate/use.ts";
import type { SimulationReport, VariantReport } from "../../views/simulation/simulation.ts";
import { type LoadedConfig, loadConfig } from "../config/config.ts";
import { type StateDir, stateOfPlan } from "../config/state.ts";
import { loadPlan } from "../runs/plan-file.ts";
import { engineOptions } from "../scheduler.ts";
import { type Durations, type Lasting, lastingOf, readDurations } from "./durations.ts";
import { readWhatIf, withPool } from "./what-if.ts";

export interface SimulateOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Absolute. */
  readonly file: string;
  readonly state: string | undefined;
  readonly workers: number | undefined;
  /** A JSON file of true durations, as typed. */
  readonly actual: string | undefined;
  /** As typed. */
  readonly whatIf: readonly string[];
  /** How many sessions each pool has, as typed: `writers=3`. */
  readonly pools: readonly string[];
}

/** Runs nothing and writes nothing. */
export async function simulatePlan(options: SimulateOptions): Promise<SimulationReport> {
  const { cwd, env, file, workers, actual, whatIf } = options;
  const { plan, directory, took } = await planIn(file);
  const flags = workers === undefined ? {} : { workers };
  const { values } = await loadConfig({ cwd, planDir: directory, env, flags });
  const base = options.pools.reduce(withPool, siteOf(plan, values));
  const sites = whatIf.map((text) => ({ text, site: readWhatIf(text, base) }));
  const known = actual === undefined ? took : await readDurations(resolve(cwd, actual), basename(actual), plan.tasks);
  const history = await historyOf(stateOfPlan({ flag: options.state, env, cwd }, file), plan.name);
  const lasting = lastingOf(plan.tasks, known, history);
  const work: Work = { plan, lasting, history };
  const report = await reportOn(work, base);
  const variants: VariantReport[] = [];
  // One after the other: each needs a whole core, and as much memory as the plan has tasks.
  for (const { text, site } of sites) variants.push({ whatIf: text, ...(await outlineOf(work, site)) });
  return { ...report, variants };
}

interface Known {
  readonly plan: Plan;
  readonly directory: string;
  /** How long its tasks took in the run, where one was written down. */
  readonly took: Durations;
}

/** A plan, or a run that was written down: then each task lasts as long as its last attempt did. */
async function planIn(file: string): Promise<Known> {
  const { isManifest, readManifest } = await import("../runs/manifest.ts");
  if (!(await isManifest(file))) {
    const { plan, directory } = await loadPlan(file, { strict: false, anywhere: true });
    return { plan, directory, took: new Map() };
  }
  const { plan, reply } = await readManifest(file);
  const took = reply.tasks.flatMap(({ task, attempts, outcome }) =>
    attempts > 0 && outcome !== undefined ? [[taskId(task), millis(outcome.duration_ms)] as const] : [],
  );
  return { plan, directory: dirname(file), took: new Map(took) };
}

interface Work {
  readonly plan: Plan;
  readonly lasting: Lasting;
  readonly history: History;
}

/** This machine, unless the plan declares a resource; of a name that neither knows there is none. Each pool has one session. */
export function siteOf({ resources, rates, tasks }: Plan, config: LoadedConfig["values"]): SiteSpec {
  const machine = machineCapacity();
  const capacity: Record<string, number> = { ...machine };
  const own: Record<string, number> = {};
  for (const [name, amount] of Object.entries(resources))
    (Object.hasOwn(machine, name) ? capacity : own)[name] = amount;
  for (const task of tasks) {
    for (const name in task.resources) {
      if (![capacity, own, rates].some((known) => Object.hasOwn(known, name))) capacity[name] = 0;
    }
  }
  const { workers, priorities } = config;
  const pools = Object.fromEntries(tasks.flatMap(({ pool }) => (pool === undefined ? [] : [[pool, 1]])));
  return { ...engineOptions(config), nodes: 1, workers, capacity, resources: own, rates, priorities, pools };
}

export async function historyOf({ database }: StateDir, plan: string): Promise<History> {
  if (!existsSync(database)) return NO_HISTORY;
  const { openStore } = await import("../../store/open.ts");
  await using store = openStore({ database, readOnly: true });
  return await store.history(plan);
}

async function reportOn(work: Work, site: SiteSpec): Promise<Omit<SimulationReport, "variants">> {
  const { plan, lasting } = work;
  const simulated = await simulateAt(work, site);
  const { run, schedule, makespan, stalled } = simulated;
  const path = criticalPath(run, schedule);
  return {
    ...figuresOf(work, site, simulated),
    name: plan.name,
    tasks: plan.tasks.length,
    schedule,
    criticalPath: path.map(({ task }) => task),
    workers: workerUse(schedule, site, makespan),
    resources: resourceUse(plan.tasks, schedule, site, makespan),
    work: millis(schedule.reduce((sum, { start, end }) => sum + end - start, 0)),
    sources: lasting.sources,
    overTime: plan.tasks.flatMap(({ id, timeout }, no) =>
      (lasting.durations[no] as number) > timeout.hard ? [id] : [],
    ),
    stalled,
  };
}

async function outlineOf(work: Work, site: SiteSpec): Promise<Omit<VariantReport, "whatIf">> {
  const simulated = await simulateAt(work, site);
  return { ...figuresOf(work, site, simulated), stalled: simulated.stalled };
}

const simulateAt = ({ plan, lasting, history }: Work, site: SiteSpec): Promise<Simulated> =>
  simulate({ name: plan.name, specs: plan.tasks, site, durations: lasting.durations, history });

/** A plan that cannot be finished has no length. */
function figuresOf({ plan, lasting }: Work, site: SiteSpec, { schedule, makespan, stalled }: Simulated) {
  const isFinished = stalled.length === 0;
  const busy = schedule.reduce((sum, { start, end }) => sum + end - start, 0);
  const workers = workersAt(site).length;
  return {
    nodes: site.nodes,
    use: makespan === 0 ? 0 : busy / (makespan * workers),
    ...(isFinished && {
      makespan,
      bound: lowerBound({ specs: plan.tasks, graph: plan.graph, durations: lasting.durations }, site),
    }),
  };
}

/** `rota run --dry-run`: which tasks would run, in which order and where. The store is only read, and nothing is written. */
import { existsSync } from "node:fs";
import { buildGraph, type Graph } from "../../domain/graph.ts";
import type { TaskId } from "../../domain/ids.ts";
import { directoryOf, type Run } from "../../domain/run.ts";
import { poolOf, type TaskSpec } from "../../domain/spec.ts";
import { isTerminal } from "../../domain/task.ts";
import { topologicalOrder } from "../../plan/order.ts";
import type { Plan } from "../../plan/plan.ts";
import { simulate } from "../../simulate/simulate.ts";
import type { DryRun } from "../../views/report/dry-run.ts";
import type { Config } from "../config/settings.ts";
import type { StateDir } from "../config/state.ts";
import { loadRun } from "../look/reader.ts";
import { lastingOf } from "../simulate/durations.ts";
import { historyOf, siteOf } from "../simulate/simulate.ts";
import type { LoadedPlan } from "./plan-file.ts";
import { whatToOpen } from "./submit.ts";

export async function dryRun(loaded: LoadedPlan, state: StateDir, config: Config, resume: boolean): Promise<DryRun> {
  const { file, directory, only } = loaded;
  const run = resume ? await wouldResume(loaded, state) : undefined;
  const plan = run === undefined ? loaded.plan : whatIsLeft(loaded.plan, run);
  const part = run === undefined ? only : run.manifest.only;
  const waves = wavesOf(plan);
  const begins = await beginnings(plan, state, config);
  const tasks = plan.tasks.map((spec, no) => ({
    task: spec.id,
    wave: waves[no] as number,
    pool: poolOf(spec),
    directory: directoryOf({ directory }, spec),
    waitsFor: [...spec.needs, ...spec.after],
    ...(spec.gate !== undefined && { gate: spec.gate }),
  }));
  return {
    name: plan.name,
    file,
    workers: config.workers,
    ...(part !== undefined && { only: part }),
    ...(run !== undefined && { resumes: { run: run.manifest.id, done: run.tasks.length - plan.tasks.length } }),
    tasks: tasks.sort((a, b) => a.wave - b.wave || begins(a.task) - begins(b.task)),
  };
}

/** The run that `--resume` would continue, or would find at its end; nothing where it would begin a new one. */
async function wouldResume(loaded: LoadedPlan, { database }: StateDir): Promise<Run | undefined> {
  if (!existsSync(database)) return undefined;
  const { openStore } = await import("../../store/open.ts");
  await using store = openStore({ database, readOnly: true });
  const { row } = whatToOpen(await store.runs(), loaded, true);
  return row && (await loadRun({ store }, row));
}

/** The tasks of the run that have not ended, with the needs among them. */
function whatIsLeft(plan: Plan, run: Run): Plan {
  const open = new Set<TaskId>(run.tasks.flatMap(({ spec, status }) => (isTerminal(status.state) ? [] : [spec.id])));
  const isOpen = (id: TaskId): boolean => open.has(id);
  const tasks = run.tasks.flatMap(({ spec }) =>
    isOpen(spec.id) ? [{ ...spec, needs: spec.needs.filter(isOpen), after: spec.after.filter(isOpen) }] : [],
  );
  return { ...plan, tasks, graph: buildGraph(tasks) };
}

/** By task number. */
function wavesOf({ graph }: { readonly graph: Graph }): Int32Array {
  const waves = new Int32Array(graph.size).fill(1);
  for (const no of topologicalOrder(graph)) {
    graph.eachDependent(no as Parameters<Graph["eachDependent"]>[0], (next) => {
      waves[next] = Math.max(waves[next] as number, (waves[no] as number) + 1);
    });
  }
  return waves;
}

/** Which task begins before which, as the scheduler would choose; tasks that could not begin come last. */
async function beginnings(plan: Plan, state: StateDir, config: Config): Promise<(task: TaskId) => number> {
  const history = await historyOf(state, plan.name);
  const { durations } = lastingOf(plan.tasks, new Map(), history);
  const specs: readonly TaskSpec[] = plan.tasks;
  const { schedule } = await simulate({ name: plan.name, specs, site: siteOf(plan, config), durations, history });
  const places = new Map(schedule.map(({ task }, at) => [task, at]));
  return (task) => places.get(task) ?? schedule.length;
}

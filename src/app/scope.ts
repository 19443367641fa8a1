/** What a request to pause, resume or drain reaches: everything when nothing is named, else a pool, a run or a task. */
import type { TaskNo } from "../domain/graph.ts";
import type { PauseScope } from "../domain/pause.ts";
import type { RunNo } from "../domain/run.ts";

/** What a request names. A task without a run is of the run that is meant. */
export interface ScopeNames {
  readonly pool?: string;
  readonly run?: string;
  readonly task?: string;
}

/** Where names are looked up: among the runs of a scheduler, or in a store without one. */
export interface Lookup {
  run(name: string): Promise<RunNo>;
  task(run: string | undefined, task: string): Promise<{ readonly run: RunNo; readonly task: TaskNo }>;
}

export async function findScope({ pool, run, task }: ScopeNames, lookup: Lookup): Promise<PauseScope> {
  if (task !== undefined) return { of: "task", ...(await lookup.task(run, task)) };
  if (run !== undefined) return { of: "run", run: await lookup.run(run) };
  return pool === undefined ? { of: "scheduler" } : { of: "pool", pool };
}

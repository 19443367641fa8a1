/** The scope of a request to pause, resume or drain: everything when nothing is named, else a pool, a run or a task. */
import { UserError } from "../../domain/errors.ts";
import type { TaskNo } from "../../domain/graph.ts";
import type { RunNo } from "../../domain/run.ts";
import { poolOf } from "../../domain/spec.ts";
import type { PauseScope } from "../../domain/waiting/pause.ts";
import { closest } from "../../std/closest.ts";
import type { RunRow } from "../../store/rows.ts";
import type { Store } from "../../store/store.ts";

/** The names in a request. A task without a run belongs to the run that commands mean when none is named. */
export interface ScopeNames {
  readonly pool?: string;
  readonly run?: string;
  readonly task?: string;
}

/** Where names are looked up: among the runs of a scheduler, or in a store without one. */
export interface Lookup {
  run(name: string): Promise<RunNo>;
  task(run: string | undefined, task: string): Promise<{ readonly run: RunNo; readonly task: TaskNo }>;
  /** Whether settings, sessions, unfinished runs or the last few runs name the pool. If not, all pools that they name. */
  pools(wanted: string): Promise<ReadonlySet<string>>;
}

/** For a pause: a pool that is named by mistake would be paused in vain. */
export async function findScopeToHold(names: ScopeNames, lookup: Lookup): Promise<PauseScope> {
  const scope = await findScope(names, lookup);
  if (scope.of === "pool") mustKnowPool(scope.pool, await lookup.pools(scope.pool));
  return scope;
}

function mustKnowPool(pool: string, known: ReadonlySet<string>): void {
  if (known.has(pool)) return;
  const near = closest(pool, known);
  const hint = near === undefined ? "" : `. Did you mean "${near}"?`;
  throw new UserError("POOL_UNKNOWN", `No setting, session or recent run names a pool "${pool}"${hint}`);
}

/** Read from the store, which costs time: of ended runs, only the last few small ones are read. */
export async function poolsNamed(
  store: Pick<Store, "runs" | "load">,
  unfinished: readonly RunRow[],
): Promise<ReadonlySet<string>> {
  const named = new Set<string>();
  const ended = (await store.runs({ newest: ENDED_MAX })).filter(({ tasks }) => tasks <= TASKS_MAX);
  for (const { no } of [...unfinished, ...ended]) {
    for (const spec of (await store.load(no))?.specs ?? []) named.add(poolOf(spec));
  }
  return named;
}
const ENDED_MAX = 10;
const TASKS_MAX = 10_000;

export async function findScope({ pool, run, task }: ScopeNames, lookup: Lookup): Promise<PauseScope> {
  if (task !== undefined) return { of: "task", ...(await lookup.task(run, task)) };
  if (run !== undefined) return { of: "run", run: await lookup.run(run) };
  return pool === undefined ? { of: "scheduler" } : { of: "pool", pool };
}

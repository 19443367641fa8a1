/** What every part of the daemon's service works with, and how it looks up the names of callers. */

import { UserError } from "../../domain/errors.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import { LOCAL_POOL } from "../../domain/spec.ts";
import type { Asked, Task } from "../../domain/task.ts";
import type { PauseScope } from "../../domain/waiting/pause.ts";
import type { Visitor } from "../../engine/engine-api.ts";
import type { RunRow } from "../../store/rows.ts";
import type { Caller } from "../../wire/service.ts";
import type { StateDir } from "../config/state.ts";
import { findRun, loadRun, mustFindTask } from "../look/reader.ts";
import { findScope, findScopeToHold, type Lookup, poolsNamed, type ScopeNames } from "../requests/scope.ts";
import type { Scheduler } from "../scheduler.ts";

export interface Parts {
  readonly scheduler: Scheduler;
  readonly state: StateDir;
  /** Asks the cycle to look for sessions to wake. */
  readonly nudge?: () => void;
}

export const askedBy = ({ by }: Caller, why: string | undefined): Asked => (why === undefined ? { by } : { by, why });

/** The caller for the engine. A caller without a known authority acts for no session. */
export function visitorOf({ by, authority }: Caller): Visitor {
  if (authority === undefined) throw new UserError("FORBIDDEN", "It is not known on whose authority this is asked");
  return { by, authority };
}

/** The named run as it is: the live run while it is under way, else the recorded one. */
export async function runNamed({ scheduler }: Parts, name: string | undefined): Promise<Run> {
  const row = await findRun(scheduler, name);
  return scheduler.engine.world.run(row.no) ?? (await loadRun(scheduler, row));
}

/** The named run, which must be under way. */
export async function liveRun({ scheduler }: Parts, name: string | undefined): Promise<Run> {
  const row = await findRun(scheduler, name);
  const run = scheduler.engine.world.run(row.no);
  if (run !== undefined) return run;
  throw new UserError("RUN_ENDED", `Run ${row.manifest.id} has ended (${outcomeOf(row)})`);
}

const outcomeOf = ({ status }: RunRow): string => (status.state === "finished" ? status.outcome : status.state);

export async function taskNamed(
  parts: Parts,
  run: string | undefined,
  task: string,
): Promise<{ run: Run; task: Task }> {
  const found = await liveRun(parts, run);
  return { run: found, task: mustFindTask(found, task) };
}

/** The scope of a pause, among the runs of this scheduler. */
export const scopeNamed = (parts: Parts, names: ScopeNames): Promise<PauseScope> => findScope(names, lookupIn(parts));

export const scopeToHold = (parts: Parts, names: ScopeNames): Promise<PauseScope> =>
  findScopeToHold(names, lookupIn(parts));

const lookupIn = (parts: Parts): Lookup => ({
  run: async (name) => (await liveRun(parts, name)).no,
  task: async (name, id) => {
    const { run, task } = await taskNamed(parts, name, id);
    return { run: run.no, task: task.no };
  },
  pools: async (wanted) => {
    const { pools, engine, store } = parts.scheduler;
    const known = new Set([...pools, LOCAL_POOL, ...Array.from(engine.pools.sessionPools(), ([pool]) => pool)]);
    return known.has(wanted) ? known : known.union(await poolsNamed(store, []));
  },
});

/** The scope in the words of callers. */
export function scopeReply({ scheduler }: Parts, scope: PauseScope): object {
  const run = "run" in scope ? scheduler.engine.world.run(scope.run) : undefined;
  return {
    of: scope.of,
    ...(scope.of === "pool" && { pool: scope.pool }),
    ...(run && { run: run.manifest.id }),
    ...(run && scope.of === "task" && { task: taskOf(run, scope.task).spec.id }),
  };
}

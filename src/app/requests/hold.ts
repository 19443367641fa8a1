/** Pauses and resumes where no scheduler works: recorded for the next scheduler. */
import { UserError } from "../../domain/errors.ts";
import { LOCAL_POOL } from "../../domain/spec.ts";
import type { Asked } from "../../domain/task.ts";
import { type PauseScope, scopeKey } from "../../domain/waiting/pause.ts";
import type { Executor } from "../../execute/executor.ts";
import { InvariantError, invariant } from "../../std/invariant.ts";
import type { RunRow } from "../../store/rows.ts";
import type { PauseReply } from "../../wire/answers.ts";
import type { PauseRequest } from "../../wire/messages.ts";
import { refuseInside } from "../agents/attempts-around.ts";
import { loadConfig } from "../config/config.ts";
import { type StateDir, stateHere } from "../config/state.ts";
import { findRun, loadRun, mustFindTask } from "../look/reader.ts";
import { openScheduler, type Scheduler } from "../scheduler.ts";
import { findScope, findScopeToHold, poolsNamed } from "./scope.ts";

type Where = Parameters<typeof stateHere>[0];

export async function holdHere(request: PauseRequest, asked: Asked, where: Where): Promise<PauseReply> {
  await using scheduler = await ownForAMoment(where, "rota pause");
  const { scope, names } = await scopeOf(scheduler, request, findScopeToHold);
  await scheduler.engine.api.hold(scope, asked);
  const pause = scheduler.engine.world.pauses.get(scopeKey(scope));
  invariant(pause !== undefined, "what was put on hold is on hold");
  return { ...names, ...pause.asked, at: new Date(pause.at).toISOString() };
}

export async function letGoHere(request: PauseRequest, asked: Asked, where: Where): Promise<boolean> {
  await using scheduler = await ownForAMoment(where, "rota resume");
  const { scope } = await scopeOf(scheduler, request);
  return await scheduler.engine.api.letGo(scope, asked);
}

/** Takes up no run, so nothing is started, and the attempts of a dead scheduler are left to the next one. */
async function ownForAMoment(where: Where, command: string): Promise<Scheduler> {
  const state: StateDir = stateHere(where);
  refuseInside(state.root, where.env);
  const { values: config } = await loadConfig({ cwd: where.cwd, env: where.env, flags: {} });
  try {
    return await openScheduler({ config, state, executor: IDLE, command });
  } catch (error) {
    if (!(error instanceof UserError) || error.code !== "STATE_BUSY") throw error;
    throw new UserError("STATE_BUSY", error.message, {
      hint: "It does not answer on its socket: ask again in a moment, or say with ROTA_SOCKET where it listens.",
      cause: error,
    });
  }
}

const IDLE: Executor = {
  start: () => {
    throw new InvariantError("nothing is started here");
  },
  adopt: async () => undefined,
  sweep: async () => 0,
  [Symbol.asyncDispose]: async () => {},
};

interface Scoped {
  readonly scope: PauseScope;
  readonly names: Pick<PauseReply, "of" | "pool" | "run" | "task">;
}

/** Looked up in the store, which no scheduler uses now: a run that has ended cannot be paused. */
async function scopeOf(scheduler: Scheduler, request: PauseRequest, find = findScope): Promise<Scoped> {
  const found: { run?: string; task?: string } = {};
  const rowOf = async (name: string | undefined): Promise<RunRow> => {
    const row = await findRun(scheduler, name);
    const { status, manifest } = row;
    if (status.state === "finished")
      throw new UserError("RUN_ENDED", `Run ${manifest.id} has ended (${status.outcome})`);
    found.run = manifest.id;
    return row;
  };
  const scope = await find(request, {
    run: async (name) => (await rowOf(name)).no,
    task: async (name, id) => {
      const row = await rowOf(name);
      const { no, spec } = mustFindTask(await loadRun(scheduler, row), id);
      found.task = spec.id;
      return { run: row.no, task: no };
    },
    pools: async () => {
      const { pools, store } = scheduler;
      const joined = (await store.sessions()).map(({ profile }) => profile.pool);
      const named = await poolsNamed(store, await store.runs("unfinished"));
      return named.union(new Set([...pools, ...joined, LOCAL_POOL]));
    },
  });
  return { scope, names: { of: scope.of, ...(scope.of === "pool" && { pool: scope.pool }), ...found } };
}

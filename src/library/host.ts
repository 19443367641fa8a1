/** What a scheduler within a program needs: its settings, a place for its state, and the executors. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { configOf } from "../app/config/config.ts";
import type { Config, Settings } from "../app/config/settings.ts";
import { type StateDir, stateDir } from "../app/config/state.ts";
import { openCrew } from "../app/crew.ts";
import { blockersOf } from "../app/look/explain-run.ts";
import { logTail } from "../app/look/log-tail.ts";
import { findRun, loadRun } from "../app/look/reader.ts";
import type { Scheduler } from "../app/scheduler.ts";
import { runId, taskId } from "../domain/ids.ts";
import { findTask, type Run, taskOf } from "../domain/run.ts";
import type { Task } from "../domain/task.ts";
import { systemClock } from "../effects/clock.ts";
import { openInlineExecutor } from "../execute/inline/executor.ts";
import { invariant } from "../std/invariant.ts";
import { summaryJson } from "../views/report/report.ts";
import { type RunResult, runResult } from "./result.ts";
import { callWith, type Scene, type TaskFunction } from "./task-function.ts";

/** What `run` and `openScheduler` take alike. */
export interface HostOptions {
  /** The state directory. Without one everything is in memory, and gone at the end. */
  readonly state?: string;
  /** How many tasks run at once, functions and commands together. One per core unless given. */
  readonly workers?: number;
  /** docs/reference/config.md lists them. Neither a configuration file nor `ROTA_…` variables are read. */
  readonly settings?: Settings;
  /** What commands may see, and functions as `env: { from }`. The program's own unless given. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
}

export interface Host extends Disposable {
  readonly state: StateDir;
  readonly inMemory: boolean;
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function openHost({ state, workers, settings = {}, environment = process.env }: HostOptions): Host {
  const config = configOf({ ...settings, ...(workers !== undefined && { workers }) });
  const inMemory = state === undefined;
  const root = inMemory ? mkdtempSync(join(tmpdir(), "rota-")) : resolve(state);
  return {
    state: stateDir(root),
    inMemory,
    config,
    environment,
    [Symbol.dispose]: () => {
      if (inMemory) rmSync(root, { recursive: true, force: true });
    },
  };
}

/** Functions and commands, done for the scheduler that `schedulerOf` gives once it is open. */
export function openHands(
  { state, config, environment, inMemory }: Host,
  functions: ReadonlyMap<string, TaskFunction>,
  schedulerOf: () => Scheduler,
) {
  const clock = systemClock();
  const sceneOf = (run: string, task: string): Scene => sceneIn(schedulerOf(), run, task);
  const calls = openInlineExecutor(callWith({ functions, clock, environment, sceneOf }), {
    clock,
    grace: config.grace,
  });
  return openCrew({ state, config, environment, functions: calls, isNew: inMemory });
}

function sceneIn(scheduler: Scheduler, run: string, task: string): Scene {
  const of = scheduler.engine.world.findRun(runId(run));
  const found = of && findTask(of, taskId(task));
  invariant(of !== undefined && found !== undefined, `${task} of ${run} is known to its scheduler`);
  return { run: of, task: found, earlier: (need) => doneEarlier(scheduler, of, need) };
}

/** The task in the run that really did it: the one before, or the one before that. */
async function doneEarlier(scheduler: Scheduler, run: Run, { no }: Task): Promise<Task | undefined> {
  let { retryOf } = run.manifest;
  while (retryOf !== undefined) {
    const earlier = await loadRun(scheduler, await findRun(scheduler, retryOf));
    if (!earlier.manifest.carried.includes(no)) return taskOf(earlier, no);
    retryOf = earlier.manifest.retryOf;
  }
  return undefined;
}

/** How the run came out, as far as it has. */
export function resultOf<P>(
  { state }: Host,
  { engine, clock }: Scheduler,
  run: Run,
  interrupted: boolean,
): RunResult<P> {
  const now = clock.now();
  const blockers = run.status.state === "stalled" ? blockersOf(engine.pools, run, now) : [];
  return runResult<P>(run, summaryJson({ run, now, blockers, interrupted }), {
    interrupted,
    tailOf: ({ spec, attempt }) => logTail(state.log(run.manifest.id, spec.id, attempt), TAIL_LINES),
  });
}
const TAIL_LINES = 10;

/** Starts what runs the tasks. It takes longest of all to be ready, so it is begun before the rest is even loaded. */
import { isLocalWorker } from "../domain/spec.ts";
import { systemClock } from "../effects/clock.ts";
import type { Attempt, Executor } from "../execute/executor.ts";
import { openOnDemand } from "../execute/on-demand.ts";
import { openProcessExecutor } from "../execute/process/executor.ts";
import { openRegistry } from "../execute/registry.ts";
import type { Config } from "./config.ts";
import { makeStateDir, type StateDir } from "./state.ts";

export interface CrewOptions {
  readonly state: StateDir;
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Calls the functions of this program, where it has any. */
  readonly functions?: Executor;
  /** Nothing was ever run in this state directory: the spawner is started with the first command, if there is one. */
  readonly isNew?: boolean;
}

export function openCrew({ state, config, environment, functions, isNew = false }: CrewOptions): Executor {
  const { grace, leaseTtl: lease, orphans, pass: passEnv, logMaxBytes } = config;
  makeStateDir(state);
  const options = { grace, lease, orphans, passEnv, logMaxBytes };
  const open = (): Executor =>
    openProcessExecutor({ stateDir: state.root, clock: systemClock(), environment, options });
  const process = isNew ? openOnDemand(open) : open();
  return openRegistry({ process, ...(functions !== undefined && { function: functions }) }, kindOf);
}

/** Functions are called in this process; whatever else the workers of this machine have to do is done by processes. */
export const kindOf = ({ work, where }: Attempt): "function" | "process" | undefined => {
  if ("call" in work) return "function";
  return isLocalWorker(where.worker) ? "process" : undefined;
};

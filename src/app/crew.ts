/** Starts the executors. They take longest to be ready, so they are started before the rest of the program is even loaded. */
import { isLocalWorker } from "../domain/spec.ts";
import { systemClock } from "../effects/clock.ts";
import type { Attempt, Executor } from "../execute/executor.ts";
import { openOnDemand } from "../execute/on-demand.ts";
import { openProcessExecutor } from "../execute/process/executor.ts";
import { openRegistry } from "../execute/registry.ts";
import type { Config } from "./config/settings.ts";
import { makeStateDir, type StateDir } from "./config/state.ts";

export interface CrewOptions {
  readonly state: StateDir;
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Calls the functions of this program, where it has any. */
  readonly functions?: Executor;
  /** Nothing was ever run in this state directory: the first shells are started with the first command, if there is one. */
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

/** Functions are called in this process; processes do all other work of this machine's workers. */
export const kindOf = ({ work, where }: Attempt): "function" | "process" | undefined => {
  if ("call" in work) return "function";
  return isLocalWorker(where.worker) ? "process" : undefined;
};

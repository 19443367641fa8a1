/** Starts what runs the tasks. It takes longest of all to be ready, so it is begun before the rest is even loaded. */
import { systemClock } from "../effects/clock.ts";
import type { Executor } from "../execute/executor.ts";
import { openProcessExecutor } from "../execute/process/executor.ts";
import type { Config } from "./config.ts";
import { makeStateDir, type StateDir } from "./state.ts";

export interface CrewOptions {
  readonly state: StateDir;
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

export function openCrew({ state, config, environment }: CrewOptions): Executor {
  const { grace, leaseTtl: lease, orphans, pass: passEnv, logMaxBytes } = config;
  makeStateDir(state);
  const options = { grace, lease, orphans, passEnv, logMaxBytes };
  return openProcessExecutor({ stateDir: state.root, clock: systemClock(), environment, options });
}

/** Starts what runs the tasks. It takes longest of all to be ready, so it is begun before the rest is even loaded. */
import type { WorkerId } from "../domain/ids.ts";
import { LOCAL_POOL } from "../domain/spec.ts";
import { systemClock } from "../effects/clock.ts";
import type { Executor } from "../execute/executor.ts";
import { openProcessExecutor } from "../execute/process/executor.ts";
import { openRegistry } from "../execute/registry.ts";
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
  const process = openProcessExecutor({ stateDir: state.root, clock: systemClock(), environment, options });
  return openRegistry({ process }, kindOf);
}

/** By the first part of a worker's name: the workers of this machine have their work done by processes. */
const KINDS: Readonly<Record<string, string>> = { [LOCAL_POOL]: "process" };
const kindOf = (worker: WorkerId): string | undefined => KINDS[worker.split("/", 1)[0] ?? ""];

/** `rota run PLAN`: takes a plan to its end on this machine, shows what happens, and can be interrupted and gone on with. */
import { resolve } from "node:path";
import { loadConfig } from "../app/config.ts";
import { loadPlan } from "../app/plan-file.ts";
import { openScheduler } from "../app/scheduler.ts";
import { stateOfPlan } from "../app/state.ts";
import { openRun } from "../app/submit.ts";
import type { Input, Run as RunCommand } from "./command.ts";
import { goOn } from "./run-loop.ts";

export const run: RunCommand = async (input, context) => {
  const { env, cwd } = context;
  const file = resolve(cwd, input.arguments[0] as string);
  const loaded = await loadPlan(file, { strict: false });
  const state = stateOfPlan({ flag: input.text("state"), env, cwd }, file);
  const config = await loadConfig({ cwd, planDir: loaded.directory, env, flags: flagsOf(input) });
  await using scheduler = await openScheduler({
    config: config.values,
    state,
    environment: env,
    command: `rota run ${file}`,
  });
  const since = scheduler.clock.now();
  const opened = await openRun(scheduler, loaded, input.flag("resume"));
  return await goOn({
    scheduler,
    state,
    opened,
    context,
    json: input.flag("json"),
    workers: config.values.workers,
    since,
  });
};

const flagsOf = (input: Input) => {
  const workers = input.count("workers");
  return workers === undefined ? {} : { workers };
};

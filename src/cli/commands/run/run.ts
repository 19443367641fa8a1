/** `rota run PLAN`: takes a plan to its end on this machine, shows what happens, and can be interrupted and gone on with. */
import { resolve } from "node:path";
import { loadConfig } from "../../../app/config/config.ts";
import { stateOfPlan } from "../../../app/config/state.ts";
import { limitTo, loadPlan } from "../../../app/runs/plan-file.ts";
import type { Opened } from "../../../app/runs/submit.ts";
import { UserError } from "../../../domain/errors.ts";
import type { Input, Run as RunCommand } from "../../frame/command.ts";
import { version } from "../../version.ts";

export const run: RunCommand = async (input, context) => {
  const { env, cwd } = context;
  const file = resolve(cwd, input.arguments[0] as string);
  const loaded = limitTo(await loadPlan(file, { strict: false }), tasksNamed(input));
  const state = stateOfPlan({ flag: input.text("state"), env, cwd }, file);
  const { values: config } = await loadConfig({ cwd, planDir: loaded.directory, env, flags: flagsOf(input) });
  if (input.flag("dry-run")) {
    if (input.text("manifest") !== undefined)
      throw new UserError("USAGE", "--dry-run runs nothing that --manifest could write down", {
        hint: "Leave one of them out.",
      });
    const { showDryRun } = await import("./run-dry.ts");
    return await showDryRun(loaded, state, config, input, context);
  }
  const manifest = await placeOf(input.text("manifest"), cwd);
  const { openCrew } = await import("../../../app/crew.ts");
  const executor = openCrew({ state, config, environment: env });
  // The modules of the scheduler are loaded while the shell for the first task starts.
  const [{ openScheduler }, { openRun }, { goOn }, { beginning }] = await Promise.all([
    import("../../../app/scheduler.ts"),
    import("../../../app/runs/submit.ts"),
    import("./run-loop.ts"),
    import("./run-leftovers.ts"),
  ]);
  await using scheduler = await openScheduler({ config, state, executor, command: `rota run ${file}` });
  const since = scheduler.clock.now();
  const open = (): Promise<Opened> => openRun(scheduler, loaded, input.flag("resume"));
  const opened = await beginning(scheduler, context, state, open, ({ run: of }) => of);
  const code = await goOn({ scheduler, state, opened, context, json: input.flag("json"), config, since });
  if (manifest !== undefined) {
    const { manifestFrom, writeManifest } = await import("../../../app/runs/manifest.ts");
    const now = scheduler.clock.now();
    await writeManifest(await manifestFrom(scheduler.store, opened.run, { version: version(), now }), manifest);
  }
  return code;
};

/** Where the run is to be written, which must be possible before the run begins. */
async function placeOf(typed: string | undefined, cwd: string): Promise<string | undefined> {
  if (typed === undefined) return undefined;
  const { checkPlace } = await import("../../../app/runs/manifest.ts");
  const file = resolve(cwd, typed);
  await checkPlace(file);
  return file;
}

const flagsOf = (input: Input) => {
  const workers = input.count("workers");
  return workers === undefined ? {} : { workers };
};

function tasksNamed(input: Input): readonly string[] {
  const names = input.texts("only").flatMap((text) => text.split(","));
  if (names.some((name) => name.trim() === "")) throw new UserError("USAGE", "--only names no task", { hint: NAMED });
  return names.map((name) => name.trim());
}

const NAMED = "Give it the ids of tasks: `--only build`, `--only build,test`, or the option several times.";

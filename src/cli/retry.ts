/** `rota retry [TASK...]`: a new run of the same tasks, in which what has succeeded counts as done. */
import { loadConfig } from "../app/config.ts";
import { openCrew } from "../app/crew.ts";
import { findRun, loadRun, mustFindTask, openReader } from "../app/reader.ts";
import { openScheduler } from "../app/scheduler.ts";
import { retryRun } from "../app/submit.ts";
import type { Run } from "./command.ts";
import { goOn } from "./run-loop.ts";

export const run: Run = async (input, context) => {
  const { env, cwd } = context;
  const { state, row, again } = await whatIsMeant(input.text("run"), input.arguments, {
    flag: input.text("state"),
    env,
    cwd,
  });
  const workers = input.count("workers");
  const flags = workers === undefined ? {} : { workers };
  const { values } = await loadConfig({ cwd, planDir: row.manifest.directory, env, flags });
  const command = `rota retry --run ${row.manifest.id}`;
  const executor = openCrew({ state, config: values, environment: env });
  await using scheduler = await openScheduler({ config: values, state, executor, command });
  const since = scheduler.clock.now();
  const retried = await retryRun(scheduler, row, again);
  const opened = { run: retried, how: "submitted" } as const;
  return await goOn({ scheduler, state, opened, context, json: input.flag("json"), workers: values.workers, since });
};

/** Looked up before anything is taken hold of: a typing mistake should not disturb anybody. */
async function whatIsMeant(
  name: string | undefined,
  tasks: readonly string[],
  where: Parameters<typeof openReader>[0],
) {
  await using reader = openReader(where);
  const row = await findRun(reader, name);
  if (tasks.length === 0) return { state: reader.state, row, again: "all" as const };
  const found = await loadRun(reader, row);
  return { state: reader.state, row, again: new Set(tasks.map((id) => mustFindTask(found, id).no)) };
}

/** `rota retry [TASK...]`: a new run of the same tasks, in which every task that has succeeded counts as done. */

import { findRun, loadRun, mustFindTask, openReader } from "../../../app/look/reader.ts";
import { SERVE } from "../../../app/requests/owner.ts";
import type { TaskNo } from "../../../domain/graph.ts";
import type { RunId } from "../../../domain/ids.ts";
import type { Run as RunState } from "../../../domain/run.ts";
import { plural } from "../../../views/text/moment.ts";
import type { Submitted } from "../../../wire/answers.ts";
import type { Context, Input, Run } from "../../frame/command.ts";
import { callDaemon } from "../../frame/daemon.ts";
import { say } from "../../frame/say.ts";

export const run: Run = async (input, context) => {
  const { env, cwd } = context;
  const meant = await whatIsMeant(input.text("run"), input.arguments, { flag: input.text("state"), env, cwd });
  return meant.isServed ? await handOver(meant, input, context) : await retryHere(meant, input, context);
};

type Meant = Awaited<ReturnType<typeof whatIsMeant>>;

/** Looked up before a scheduler is opened or called: a typing mistake should not disturb it. */
async function whatIsMeant(
  name: string | undefined,
  tasks: readonly string[],
  where: Parameters<typeof openReader>[0],
) {
  await using reader = openReader(where);
  const row = await findRun(reader, name);
  // A `rota run` ends with its own run, so no other run is handed to it.
  const isServed = (await reader.scheduler())?.command === SERVE;
  const found = tasks.length === 0 ? undefined : await loadRun(reader, row);
  const again: ReadonlySet<TaskNo> | "all" =
    found === undefined ? "all" : new Set(tasks.map((id) => mustFindTask(found, id).no));
  return { state: reader.state, row, again, isServed };
}

/** Hands it to the running daemon. */
async function handOver({ state, row }: Meant, input: Input, context: Context): Promise<number> {
  await using called = await callDaemon(input, context);
  const submitted = await called.client.retry({ run: row.manifest.id, tasks: [...input.arguments] });
  if (input.flag("no-wait")) return sayHandedOver(submitted, row.manifest.id, input, context);
  const { seeToEnd } = await import("./run-watch.ts");
  return await seeToEnd({ id: submitted.run, root: state.root, context, json: input.flag("json") });
}

function sayHandedOver(submitted: Submitted, of: RunId, input: Input, context: Context): number {
  const { run: id, tasks } = submitted;
  say<"retry --no-wait">(input, context, submitted, () => [id]);
  context.terminal.err(`Run ${id} tries ${of} again: ${plural(tasks, "task")}.\n`);
  return 0;
}

async function retryHere({ state, row, again }: Meant, input: Input, context: Context): Promise<number> {
  const { env, cwd } = context;
  const [{ loadConfig }, { openCrew }, { openScheduler }, { retryRun }, { goOn }, { beginning }] = await Promise.all([
    import("../../../app/config/config.ts"),
    import("../../../app/crew.ts"),
    import("../../../app/scheduler.ts"),
    import("../../../app/runs/submit.ts"),
    import("./run-loop.ts"),
    import("./run-leftovers.ts"),
  ]);
  const workers = input.count("workers");
  const flags = workers === undefined ? {} : { workers };
  const { values } = await loadConfig({ cwd, planDir: row.manifest.directory, env, flags });
  const command = `rota retry --run ${row.manifest.id}`;
  const executor = openCrew({ state, config: values, environment: env });
  await using scheduler = await openScheduler({ config: values, state, executor, command });
  const since = scheduler.clock.now();
  const begin = (): Promise<RunState> => retryRun(scheduler, row, again);
  const retried = await beginning(scheduler, context, state, begin, (begun) => begun);
  const opened = { run: retried, how: "submitted" } as const;
  return await goOn({ scheduler, state, opened, context, json: input.flag("json"), config: values, since });
}

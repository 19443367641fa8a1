/** `rota status [RUN]`: a run on one screen, or with `--all` every run. */
import type { Waits } from "../../../app/look/explain-run.ts";
import { findRun, isNewest, isQuiet, keptWishes, loadRun, openReader, type Reader } from "../../../app/look/reader.ts";
import type { Run as RunState } from "../../../domain/run.ts";
import { type StatusView, statusJson, statusOf } from "../../../views/status/status.ts";
import { statusText } from "../../../views/status/status-text.ts";
import type { Context, Input, Run } from "../../frame/command.ts";
import { reachOf } from "../../frame/daemon.ts";
import { themeOf } from "../../frame/theme.ts";
import { sayUnrecovered } from "./unrecovered.ts";

export const run: Run = async (input, context) => {
  const { terminal, env, cwd } = context;
  await using reader = openReader({ flag: input.text("state"), env, cwd });
  const notice = await sayUnrecovered(reader, input, context);
  const all = input.flag("all");
  const row = all ? undefined : await findRun(reader, input.arguments[0]);
  // The watched run stays the same, also when there is a newer one.
  const show = (): Promise<string> =>
    row === undefined ? allRuns(reader, input, context, notice) : oneRun(reader, row, input, context, notice);
  if (input.flag("watch")) {
    const { watch } = await import("./status-watch.ts");
    const isOver = (): Promise<boolean> => isQuiet(reader, row?.no);
    return await watch(reader, { show, isOver, json: input.flag("json") }, context);
  }
  terminal.out(await show());
  return 0;
};

type Row = Awaited<ReturnType<typeof findRun>>;

async function allRuns(reader: Reader, input: Input, context: Context, notice: object): Promise<string> {
  const { runsJson, runsText } = await import("../../../views/status/runs.ts");
  const owned = (await reader.scheduler()) !== undefined;
  const all = { runs: await reader.store.runs(), owned, now: reader.now() };
  if (input.flag("json")) return `${JSON.stringify({ ...runsJson(all), ...notice })}\n`;
  return joined(runsText(all, { columns: context.terminal.columns }, themeOf(context)));
}

async function oneRun(reader: Reader, row: Row, input: Input, context: Context, notice: object): Promise<string> {
  const view = await viewOf(reader, row);
  const command = context.commandsTo(reachOf(input, context, reader.state.root));
  if (input.flag("json")) return `${JSON.stringify({ ...statusJson(view), ...notice })}\n`;
  return joined(statusText(view, { columns: context.terminal.columns, command }, themeOf(context)));
}

async function viewOf(reader: Reader, row: Row): Promise<StatusView> {
  const found = await loadRun(reader, row);
  const scheduler = await reader.scheduler();
  const { waitOf, resources, sessions } = await whatWaits(reader, found);
  const owner = scheduler && {
    pid: scheduler.process.pid,
    host: scheduler.host,
    command: scheduler.command,
    workers: scheduler.workers,
  };
  return statusOf({
    run: found,
    now: reader.now(),
    ...(owner !== undefined && { owner }),
    waitOf,
    resources,
    sessions,
    pauses: await reader.store.pauses(),
    wishes: await keptWishes(reader, found),
    logOf: (task, attempt) => reader.state.log(found.manifest.id, task, attempt),
    newest: await isNewest(reader, found),
  });
}

/** In a run that has ended no task waits, and the dispatcher need not be loaded. */
async function whatWaits(reader: Reader, found: RunState): Promise<Waits> {
  if (found.status.state === "finished") return { waitOf: () => undefined, resources: [], sessions: [] };
  const { explainWaits } = await import("../../../app/look/explain-run.ts");
  return explainWaits(reader, found);
}

const joined = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join("");

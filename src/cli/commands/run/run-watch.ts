/** Follows a run to its end while another process schedules it: shows what happens, reports, and gives the exit code of `rota run`. */
import { explainBlockers } from "../../../app/look/explain-run.ts";
import { logTail } from "../../../app/look/log-tail.ts";
import { findRun, isNewest, loadRun, openReader, type Reader } from "../../../app/look/reader.ts";
import { changes } from "../../../app/look/watch.ts";
import { UserError } from "../../../domain/errors.ts";
import type { Event } from "../../../domain/event.ts";
import type { TaskId } from "../../../domain/ids.ts";
import type { Run } from "../../../domain/run.ts";
import { type Instant, later, seconds } from "../../../domain/time.ts";
import { reportOf, summaryJson } from "../../../views/report/report.ts";
import { reportText } from "../../../views/report/report-text.ts";
import { plainLine } from "../../../views/status/live.ts";
import { RunProgress } from "../../../views/timeline/run-progress.ts";
import type { Context } from "../../frame/command.ts";
import { pollInterval } from "../../frame/poll.ts";
import { themeOf } from "../../frame/theme.ts";

export interface Watching {
  readonly id: string;
  /** The state directory of the scheduler. */
  readonly root: string;
  readonly context: Context;
  readonly json: boolean;
}

/** How long a daemon may be away before this command gives up. */
const AWAY_MAX = seconds(60);
const PAGE = 2_000;
const TAIL_LINES = 10;
const EXIT = { succeeded: 0, failed: 1, stalled: 3, interrupted: 130 } as const;

export async function seeToEnd({ id, root, context, json }: Watching): Promise<number> {
  const { terminal, env, cwd } = context;
  await using reader = openReader({ flag: root, env, cwd });
  const row = await findRun(reader, id);
  const run = await loadRun(reader, row);
  const progress = new RunProgress(run);
  const interrupted = new AbortController();
  const interrupt = (): void => interrupted.abort();
  process.once("SIGINT", interrupt).once("SIGTERM", interrupt);
  try {
    if (!(await follow(reader, progress, run, context, json, interrupted.signal))) {
      terminal.err(`Run ${id} goes on. See it with: ${context.commandsTo({ root })(["status", id])}\n`);
      return EXIT.interrupted;
    }
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", interrupt);
  }
  return await report(reader, await loadRun(reader, row), progress, context, json);
}

/** Shows the events of the run. True when nothing more will come by itself, false when the reader of the output is gone. */
async function follow(
  reader: Reader,
  progress: RunProgress,
  run: Run,
  context: Context,
  json: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const theme = themeOf(context);
  const show = (event: Event): void => {
    const line = json ? undefined : plainLine(event, run, theme);
    if (line !== undefined) context.terminal.out(`${line}\n`);
  };
  let after = 0;
  let isOver = false;
  let seenAt: Instant = reader.now();
  for await (const _ of changes([reader.state.root], { signal, pollEvery: await pollInterval(context) })) {
    // Checked first: then the read includes the last events of the scheduler.
    const isScheduled = (await reader.scheduler()) !== undefined;
    for (let events = await page(reader, run, after); events.length > 0; events = await page(reader, run, after)) {
      for (const event of events) {
        show(event);
        progress.add(event);
        if (ENDS.has(event.kind)) isOver = true;
        else if (event.kind === "run_reopened") isOver = false;
      }
      after = (events.at(-1) as Event).seq;
    }
    if (isOver) return true;
    if (isScheduled) seenAt = reader.now();
    else if (reader.now() > later(seenAt, AWAY_MAX)) throw abandoned(run);
  }
  return false;
}

const ENDS: ReadonlySet<Event["kind"]> = new Set(["run_finished", "run_stalled"]);
const page = ({ store }: Reader, { no }: Run, after: number): Promise<readonly Event[]> =>
  store.events({ run: no, after, limit: PAGE });

const abandoned = ({ manifest }: Run): UserError =>
  new UserError("DAEMON_MISSING", `No scheduler works on run ${manifest.id} any more`, {
    hint: "`rota serve` goes on with it; nothing is lost.",
  });

async function report(
  reader: Reader,
  run: Run,
  progress: RunProgress,
  context: Context,
  json: boolean,
): Promise<number> {
  const { terminal } = context;
  const isStalled = run.status.state === "stalled";
  const facts = { run, now: reader.now(), blockers: isStalled ? await explainBlockers(reader, run) : [] };
  if (json) terminal.out(`${JSON.stringify(summaryJson(facts))}\n`);
  else {
    const served = (await reader.scheduler()) !== undefined;
    const logOf = (task: TaskId, attempt: number): string => reader.state.log(run.manifest.id, task, attempt);
    const tailOf = (task: TaskId, attempt: number): readonly string[] => logTail(logOf(task, attempt), TAIL_LINES);
    const lines = reportText(
      reportOf({ ...facts, progress, served, older: !(await isNewest(reader, run)), logOf, tailOf }),
      { columns: terminal.columns, command: context.commandsTo({ root: reader.state.root }) },
      themeOf(context),
    );
    terminal.out(lines.map((line) => `${line}\n`).join(""));
  }
  if (run.status.state !== "finished") return EXIT.stalled;
  return run.status.outcome === "succeeded" ? EXIT.succeeded : EXIT.failed;
}

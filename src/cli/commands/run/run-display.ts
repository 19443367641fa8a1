/** How `rota run` shows what happens: a picture on a terminal, lines in a pipe, nothing but the summary for programs. */
import { blockersOf } from "../../../app/look/explain-run.ts";
import { logTail } from "../../../app/look/log-tail.ts";
import type { TaskId } from "../../../domain/ids.ts";
import { reportOf, summaryJson } from "../../../views/report/report.ts";
import { reportText } from "../../../views/report/report-text.ts";
import { plainLine } from "../../../views/status/live.ts";
import type { RunProgress } from "../../../views/timeline/run-progress.ts";
import { themeOf } from "../../frame/theme.ts";
import { openLiveView } from "./run-screen.ts";
import type { Display, GoOn } from "./run-work.ts";

export function openDisplay(work: GoOn): Display {
  const { terminal } = work.context;
  if (work.json)
    return { events: () => {}, notice: (text) => terminal.err(`${text}\n`), ask: () => {}, close: () => {} };
  return terminal.interactive ? openLiveView(work) : openLines(work);
}

/** What came of it. */
export function showReport(
  { opened, context, json, scheduler, state }: GoOn,
  progress: RunProgress,
  interrupted: boolean,
  older: boolean,
): void {
  const { run } = opened;
  const { terminal } = context;
  const now = scheduler.clock.now();
  const facts = {
    run,
    now,
    interrupted,
    since: progress.since,
    blockers: run.status.state === "stalled" ? blockersOf(scheduler.engine.pools, run, now) : [],
  };
  if (json) return terminal.out(`${JSON.stringify(summaryJson(facts))}\n`);
  const log = (task: TaskId, attempt: number): string => state.log(run.manifest.id, task, attempt);
  const report = reportOf({
    ...facts,
    progress,
    older,
    logOf: log,
    tailOf: (task, attempt) => logTail(log(task, attempt), TAIL_LINES),
  });
  const command = context.commandsTo({ root: state.root });
  const lines = reportText(report, { columns: terminal.columns, command }, themeOf(context));
  terminal.out(lines.map((line) => `${line}\n`).join(""));
}

const TAIL_LINES = 10;

function openLines({ opened, context }: GoOn): Display {
  const { terminal } = context;
  const theme = themeOf(context);
  return {
    events(events) {
      const lines = events.flatMap((event) => plainLine(event, opened.run, theme) ?? []);
      if (lines.length > 0) terminal.out(lines.map((line) => `${line}\n`).join(""));
    },
    notice: (text) => terminal.err(`${text}\n`),
    ask: () => {},
    close: () => {},
  };
}

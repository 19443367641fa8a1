/** A running run: a picture of the size of the terminal that can be drawn again and again, and lines for a pipe. */

import type { Forecast } from "../../domain/durations/estimate.ts";
import { type Event, isSystemEvent, isTaskEvent, type TaskEvent } from "../../domain/event.ts";
import type { TaskId } from "../../domain/ids.ts";
import { describeOutcome, isTaken, type Outcome } from "../../domain/outcome.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import { type Held, isHeld, type Task, type TaskState } from "../../domain/task.ts";
import { between, formatDuration, type Instant } from "../../domain/time.ts";
import type { Wait } from "../../domain/waiting/explanation.ts";
import { awaitsApproval } from "../../domain/waiting/needs.ts";
import { eventWords } from "../events/events.ts";
import {
  type Line,
  lineWidth,
  pad,
  paint,
  paintAll,
  quiet,
  type Span,
  strong,
  type Theme,
  table,
  toned,
} from "../text/line.ts";
import { age, grouped, percent, timeOfDay, wholeDuration } from "../text/moment.ts";
import { type Counts, countsLine, progressBar, RETRY_SIGN, STATE_SIGNS } from "../text/sign.ts";
import { lastShown } from "../text/text.ts";
import { waitPhrase } from "../why/wait.ts";
import { attemptWords, isRetry, named, type Titled, titleOf } from "./named.ts";

export interface LiveInput {
  readonly run: Run;
  readonly now: Instant;
  /** When this command took the run up. */
  readonly since: Instant;
  readonly forecast?: Forecast;
  /** Called for the few tasks that are shown, and no others. */
  readonly waitOf: (task: Task) => Wait | undefined;
  readonly lastLineOf: (task: Task) => string | undefined;
  /** Recent events, oldest first; the view shows the last few ends among them. */
  readonly recent: readonly Event[];
  /** Set once a person has asked for the end: the header says so. */
  readonly stopping?: boolean;
}

export interface LiveModel {
  readonly name: string;
  readonly now: Instant;
  readonly since: Instant;
  readonly stopping: boolean;
  readonly forecast?: Forecast;
  readonly counts: Counts;
  readonly total: number;
  /** Longest first. */
  readonly running: readonly LiveTask[];
  /** The few tasks that a person may want to know of: first those that wait for a person, then tasks that could go, then the rest. */
  readonly waiting: readonly LiveWait[];
  readonly ended: readonly Line[];
}
export interface LiveWait extends Titled {
  readonly task: TaskId;
  readonly state: TaskState;
  readonly wait: Wait;
}
export interface LiveTask extends Titled {
  readonly task: TaskId;
  readonly attempt: number;
  readonly again: boolean;
  readonly since: Instant;
  readonly state: Held["state"];
  readonly stopping: boolean;
  readonly lastLine?: string;
}
export interface Size {
  readonly columns: number;
  readonly rows: number;
}

const WAITING_MAX = 4;
const ENDED_MAX = 4;

export function liveModel(input: LiveInput): LiveModel {
  const { run, now, since, forecast, recent } = input;
  const running: LiveTask[] = [];
  for (const task of run.tasks) if (isHeld(task.status)) running.push(liveTask(task, task.status, input));
  const ended = recent.flatMap((event) => {
    const line = endLine(event, run);
    return line === undefined ? [] : [line];
  });
  return {
    name: run.manifest.name,
    now,
    since,
    stopping: input.stopping === true,
    ...(forecast !== undefined && { forecast }),
    counts: { ...run.counts },
    total: run.tasks.length,
    running: running.sort((a, b) => a.since - b.since),
    waiting: waitingOf(input),
    ended: ended.slice(-ENDED_MAX),
  };
}

function liveTask(task: Task, { since, state, stopping }: Held, { lastLineOf }: LiveInput): LiveTask {
  const lastLine = lastLineOf(task);
  const said = lastLine === undefined ? {} : { lastLine };
  return {
    task: task.spec.id,
    ...titleOf(task.spec),
    attempt: task.attempt,
    again: isRetry(task),
    since,
    state,
    stopping: stopping !== undefined,
    ...said,
  };
}

/** Tasks that only a person can move come first, and tasks that wait for others last. */
const SHOWN: readonly { readonly state: TaskState; readonly is?: (task: Task) => boolean }[] = [
  { state: "parked" },
  { state: "blocked", is: awaitsApproval },
  { state: "ready" },
  { state: "blocked", is: (task) => !awaitsApproval(task) },
];

function waitingOf({ run, waitOf }: LiveInput): LiveModel["waiting"] {
  const shown: LiveWait[] = [];
  for (const { state, is = () => true } of SHOWN) {
    if (run.counts[state] === 0) continue;
    for (const task of run.tasks) {
      if (shown.length === WAITING_MAX) return shown;
      if (task.status.state !== state || !is(task)) continue;
      const wait = waitOf(task);
      if (wait !== undefined) shown.push({ task: task.spec.id, ...titleOf(task.spec), state, wait });
    }
  }
  return shown;
}

/** At most one line less than there are rows, so that the cursor has a place to rest. */
export function frame(model: LiveModel, { columns, rows }: Size, theme: Theme): string[] {
  const room = Math.max(1, rows - 1);
  const header = headerOf(model, columns);
  if (room < header.length + 2) return paintAll(header.slice(0, room), theme, columns);
  let left = room - header.length - 1;
  const runningLines = runningOf(model, columns, Math.max(1, left - 2));
  left -= runningLines.length;
  const waiting = left >= 2 ? waitingLines(model, columns).slice(0, left - 1) : [];
  left -= waiting.length === 0 ? 0 : waiting.length + 1;
  const ended = left >= 2 ? model.ended.slice(-(left - 1)) : [];
  const blocks = [header, runningLines, waiting, ended].filter((block) => block.length > 0);
  return paintAll(blocks.flatMap((block, at) => (at === 0 ? block : [[], ...block])).slice(0, room), theme, columns);
}

function headerOf(model: LiveModel, columns: number): Line[] {
  const { name, now, since, counts, total, stopping } = model;
  const done =
    total - counts.blocked - counts.ready - counts.claimed - counts.running - counts.verifying - counts.parked;
  const right: Line = [`${grouped(done)}/${grouped(total)}  `, strong(percent(done, total))];
  const left: Line = [
    stopping ? toned("warn", "‖") : toned("busy", "●"),
    " ",
    strong(name),
    "  ",
    age(since, now),
    ...(stopping ? [toned("warn", "  stopping")] : leftWords(model)),
  ];
  const width = Math.max(1, columns - lineWidth(right) - 1);
  return [[...pad(left, width), " ", ...right], progressBar(counts, columns), countsLine(counts)];
}

/**
 * The end can be no nearer than the longest remaining chain, nor than all remaining work shared out among the workers.
 * The view shows the larger of the two and says which it is: more workers shorten only the second.
 */
function leftWords({ forecast }: LiveModel): Span[] {
  if (forecast === undefined || forecast.remainingMs < 1_000) return [];
  const bound = forecast.pathMs >= forecast.workMs ? "longest path" : "work for all workers";
  return [quiet(`  about ${wholeDuration(forecast.remainingMs)} left (${bound})`)];
}

function runningOf({ running, now }: LiveModel, columns: number, most: number): Line[] {
  const shown = running.length > most ? running.slice(0, Math.max(1, most - 1)) : running;
  const more = running.length - shown.length;
  const rows = shown.map(({ task, title, attempt, again, since, state, stopping, lastLine }) => [
    [STATE_SIGNS[state], " ", ...named(task, title)],
    [age(since, now)],
    [again ? toned("warn", `#${attempt}`) : ""],
    [stopping ? toned("warn", "stopping") : quiet(lastLine === undefined ? "" : lastShown(lastLine).trim())],
  ]);
  const lines = table(rows, {
    columns: [{ shrinkTo: 12 }, { align: "right" }, {}, { shrinkTo: 0 }],
    width: columns,
    indent: 0,
  });
  return more > 0 ? [...lines, [quiet(`  and ${grouped(more)} more running`)]] : lines;
}

const waitingLines = ({ waiting, now }: LiveModel, columns: number): Line[] =>
  table(
    waiting.map(({ task, title, state, wait }) => [
      [STATE_SIGNS[state], " ", ...named(task, title)],
      [quiet(waitPhrase(wait, now))],
    ]),
    { columns: [{ shrinkTo: 12 }, { shrinkTo: 10 }], width: columns, indent: 0 },
  );

/** For output that is not a terminal: `12:03:11 ✔ build (attempt 2) 3.1s`. Nothing for events that do not matter to a reader. */
export function plainLine(event: Event, run: Run, theme: Theme): string | undefined {
  const line = eventSign(event, run);
  return line && paint([quiet(timeOfDay(event.at, theme.timeZone)), " ", ...line], theme);
}

/** The same without the time: a sign, the task, and what happened. */
export const eventSign = (event: Event, run: Run): Line | undefined => endLine(event, run) ?? otherLine(event, run);

/** The end of an attempt or a task. */
function endLine(event: Event, run: Run): Line | undefined {
  if (!isTaskEvent(event)) return undefined;
  const name = attemptName(event, run);
  switch (event.kind) {
    case "succeeded": {
      const { outcome } = event;
      const how = isTaken(outcome) ? describeOutcome(outcome) : formatDuration(outcome.durationMs);
      return [STATE_SIGNS.succeeded, " ", name, quiet(` ${how}`)];
    }
    case "failed":
      return [STATE_SIGNS.failed, " ", name, " ", toned("bad", describeOutcome(event.outcome)), after(event.outcome)];
    case "retried": {
      const again = quiet(`, again in ${formatDuration(between(event.at, event.notBefore))}`);
      return [RETRY_SIGN, " ", name, " ", toned("warn", describeOutcome(event.outcome)), after(event.outcome), again];
    }
    case "expired":
      return [RETRY_SIGN, " ", name, " ", toned("warn", eventWords(event, run).text)];
    case "skipped":
    case "cancelled":
    case "parked":
      return [STATE_SIGNS[event.kind], " ", name, " ", quiet(eventWords(event, run).text)];
    default:
      return undefined;
  }
}

/** Told as things are when it is told: the event itself knows the number alone. */
function attemptName({ task: no, attempt }: TaskEvent, run: Run): string {
  const task = taskOf(run, no);
  const words = attemptWords({ attempt, again: isRetry(task) });
  return words === "" ? task.spec.id : `${task.spec.id} (${words})`;
}

const after = ({ durationMs }: Outcome): Span => quiet(` after ${formatDuration(durationMs)}`);

function otherLine(event: Event, run: Run): Line | undefined {
  if (isSystemEvent(event)) return undefined;
  const { text } = eventWords(event, run);
  switch (event.kind) {
    case "run_submitted":
    case "run_reopened":
    case "run_cancelling":
    case "run_stalled":
    case "run_finished":
      return [strong(run.manifest.name), ` ${text}`];
    case "started": {
      const { title } = taskOf(run, event.task).spec;
      return [STATE_SIGNS.running, " ", attemptName(event, run), quiet(" started"), ...named("", title)];
    }
    case "stopping":
    case "silent":
    case "approved":
    case "requeued":
    case "late_report_refused":
      return [toned("warn", "·"), " ", taskOf(run, event.task).spec.id, " ", quiet(text)];
    default:
      return undefined;
  }
}

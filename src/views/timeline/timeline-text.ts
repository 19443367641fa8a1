/** The timeline in a terminal: a bar for each task, or, when there are too many, how busy each worker was. */
import { formatDuration, type Instant, type Millis, millis } from "../../domain/time.ts";
import { named, type Titled, titleOf } from "../status/named.ts";
import {
  type Line,
  lineWidth,
  paintAll,
  quiet,
  type Span,
  strong,
  type Theme,
  type Tone,
  table,
  toned,
} from "../text/line.ts";
import { grouped, percent, plural } from "../text/moment.ts";
import type { AttemptEnd } from "./attempt-end.ts";
import { marks } from "./axis.ts";
import { beginOf, type Timeline, type TimelineAttempt } from "./timeline.ts";

export interface TimelineTextOptions {
  readonly columns: number;
  /** With more tasks than this the chart shows workers. */
  readonly tasksMax?: number;
}

const TASKS_MAX = 60;
const NAME_WIDTH_MAX = 28;
/** Beside the bar: indent, sign, name, gaps, and room for a duration. */
const BAR_WIDTH_MIN = 20;

export function timelineText(timeline: Timeline, options: TimelineTextOptions, theme: Theme): string[] {
  const { columns } = options;
  const header = headerOf(timeline);
  if (timeline.attempts.length === 0) return paintAll([header, [], ["  Nothing has started yet."]], theme, columns);
  return paintAll([header, [], ...timelineChart(timeline, options), [], ...footerOf(timeline)], theme, columns);
}

/** Only the bars, for a view with words of its own. There must be an attempt. */
export function timelineChart(timeline: Timeline, { columns, tasksMax = TASKS_MAX }: TimelineTextOptions): Line[] {
  const rows = rowsOf(timeline);
  if (rows.length <= tasksMax) return taskChart(timeline, rows, columns);
  return [
    ...workerChart(timeline, columns),
    [],
    [strong(timeline.criticalPath.length > 0 ? "Longest on the critical path" : "Longest tasks")],
    ...taskChart(timeline, notable(timeline, rows), columns),
  ];
}

/** All attempts of one task. */
interface Row extends Titled {
  readonly task: string;
  readonly attempts: readonly TimelineAttempt[];
  readonly critical: boolean;
}

function rowsOf({ attempts }: Timeline): readonly Row[] {
  const rows = new Map<string, TimelineAttempt[]>();
  for (const attempt of attempts) {
    const known = rows.get(attempt.task);
    if (known === undefined) rows.set(attempt.task, [attempt]);
    else known.push(attempt);
  }
  return [...rows].map(([task, of]) => ({
    task,
    ...titleOf(of[0] as TimelineAttempt),
    attempts: of,
    critical: of.some(({ critical }) => critical),
  }));
}

const NOTABLE_MAX = 15;

/** The tasks that took longest, of the critical path when there is one; in the order in which they ran. */
function notable({ criticalPath, to }: Timeline, rows: readonly Row[]): readonly Row[] {
  const eligible = criticalPath.length > 0 ? rows.filter(({ critical }) => critical) : rows;
  const longest = [...eligible].sort((a, b) => busy(b.attempts, to) - busy(a.attempts, to)).slice(0, NOTABLE_MAX);
  const kept = new Set(longest);
  return rows.filter((row) => kept.has(row));
}

const headerOf = ({ name, run, state, from, to, tasks }: Timeline): Line => [
  strong(name),
  "  ",
  quiet(`${run}  ${state} · ${formatDuration(millis(to - from))} · ${plural(tasks, "task")}`),
];

function taskChart(timeline: Timeline, rows: readonly Row[], columns: number): Line[] {
  const nameWidth = Math.min(
    NAME_WIDTH_MAX,
    Math.floor(columns / 3),
    widest(rows.map(({ task, title }) => named(task, title))),
  );
  const width = Math.max(BAR_WIDTH_MIN, columns - nameWidth - 16);
  const scale = scaleOf(timeline, width);
  const lines = table(
    rows.map((row) => [
      [signOf(row)],
      nameOf(row),
      barOf(row.attempts, scale),
      [quiet(formatDuration(millis(busy(row.attempts, timeline.to)))), attemptsNote(row)],
    ]),
    { columns: [{}, { shrinkTo: Math.max(4, nameWidth) }, {}, {}], width: columns, gap: 1 },
  );
  return [...lines, axisLine(scale, 2 + 1 + 1 + nameWidth + 1)];
}

/** A loop, because there may be more names than a call can have arguments. */
const widest = (names: readonly Line[]): number => names.reduce((most, name) => Math.max(most, lineWidth(name)), 0);

function nameOf({ task, title, critical }: Row): Line {
  const [id = "", ...rest] = named(task, title);
  return [critical ? strong(task) : id, ...rest];
}

const attemptsNote = ({ attempts }: Row): Span => (attempts.length > 1 ? quiet(` ×${attempts.length}`) : "");
const busy = (attempts: readonly TimelineAttempt[], to: Instant): number =>
  attempts.reduce((sum, attempt) => sum + (attempt.endedAt ?? to) - beginOf(attempt), 0);

const END_SIGNS: Readonly<Record<AttemptEnd, { readonly sign: string; readonly bar: string; readonly tone: Tone }>> = {
  succeeded: { sign: "✔", bar: "█", tone: "good" },
  failed: { sign: "✖", bar: "█", tone: "bad" },
  retried: { sign: "↻", bar: "▒", tone: "warn" },
  lost: { sign: "↻", bar: "▒", tone: "warn" },
  released: { sign: "↻", bar: "▒", tone: "quiet" },
  parked: { sign: "‖", bar: "▒", tone: "warn" },
  cancelled: { sign: "⊘", bar: "▒", tone: "warn" },
  running: { sign: "●", bar: "█", tone: "busy" },
};

function signOf({ attempts }: Row): Span {
  const { sign, tone } = END_SIGNS[(attempts.at(-1) as TimelineAttempt).end];
  return toned(tone, sign);
}

/** Turns time into columns. */
interface Scale {
  readonly span: Millis;
  readonly width: number;
  column(at: Instant): number;
}

function scaleOf({ from, to }: Timeline, width: number): Scale {
  const span = millis(Math.max(1, to - from));
  return {
    span,
    width,
    column: (at) => Math.min(width, Math.max(0, Math.round(((at - from) / span) * width))),
  };
}

/** Every attempt gets at least one column, unless a later attempt stands there already. */
function barOf(attempts: readonly TimelineAttempt[], scale: Scale): Line {
  const line: Span[] = [];
  let at = 0;
  for (const attempt of attempts) {
    const begin = Math.max(at, Math.min(scale.width - 1, scale.column(beginOf(attempt))));
    const end = Math.min(
      scale.width,
      Math.max(begin + 1, attempt.endedAt === undefined ? scale.width : scale.column(attempt.endedAt)),
    );
    if (begin >= end) continue;
    const { bar, tone } = END_SIGNS[attempt.end];
    line.push(" ".repeat(begin - at), toned(tone, bar.repeat(end - begin)));
    at = end;
  }
  line.push(" ".repeat(scale.width - at));
  return line;
}

/** `0s        30s       1m`, each label beginning under its place. */
function axisLine({ span, width }: Scale, indent: number): Line {
  let line = "";
  for (const { at, label } of marks(span, Math.max(1, Math.floor(width / 10)))) {
    const column = Math.round((at / span) * width);
    if (column < line.length || column + label.length + 1 > width) continue;
    line = `${line.padEnd(column)}╵${label} `;
  }
  return [" ".repeat(indent), quiet(line)];
}

const SHADES = [" ", "░", "▒", "█"];

/** For each worker, how much of each column's time it was busy. */
function workerChart(timeline: Timeline, columns: number): Line[] {
  const { workers, attempts, from, to } = timeline;
  const nameWidth = Math.min(NAME_WIDTH_MAX, widest(workers.map((worker) => [worker])));
  const width = Math.max(BAR_WIDTH_MIN, columns - nameWidth - 20);
  const scale = scaleOf(timeline, width);
  const slice = scale.span / width;
  const use = new Map(workers.map((worker) => [worker, { slices: new Float64Array(width), busy: 0, count: 0 }]));
  for (const attempt of attempts) {
    const of = use.get(attempt.worker);
    if (of === undefined) continue;
    const begin = beginOf(attempt) - from;
    const end = (attempt.endedAt ?? to) - from;
    of.busy += end - begin;
    of.count++;
    for (let at = Math.max(0, Math.floor(begin / slice)); at < width && at * slice < end; at++) {
      const share = Math.min(end, (at + 1) * slice) - Math.max(begin, at * slice);
      of.slices[at] = (of.slices[at] as number) + share / slice;
    }
  }
  const shown = workers.slice(0, WORKERS_MAX);
  const lines = table(
    shown.map((worker) => {
      const { slices, busy: spent, count } = use.get(worker) as { slices: Float64Array; busy: number; count: number };
      return [[worker], [toned("busy", shades(slices))], [quiet(`${percent(spent, scale.span)} · ${grouped(count)}`)]];
    }),
    { columns: [{ shrinkTo: 8 }, {}, {}], width: columns, gap: 1 },
  );
  const more: Line[] =
    workers.length > shown.length ? [[quiet(`  and ${plural(workers.length - shown.length, "more worker")}`)]] : [];
  return [...lines, ...more, axisLine(scale, 2 + nameWidth + 1)];
}

const WORKERS_MAX = 32;
const shades = (slices: Float64Array): string =>
  Array.from(slices, (share) => SHADES[share < 0.05 ? 0 : share < 0.4 ? 1 : share < 0.8 ? 2 : 3]).join("");

function footerOf({ attempts, criticalPath, from, to, tasks }: Timeline): Line[] {
  const work = busy(attempts, to);
  const wall = Math.max(1, to - from);
  const line: Line = [
    quiet(
      `  ${plural(attempts.length, "attempt")} of ${plural(tasks, "task")} · ${formatDuration(millis(work))} of work · ` +
        `${(work / wall).toFixed(1)} at a time`,
    ),
  ];
  if (criticalPath.length === 0) return [line];
  const chain =
    criticalPath.length > CHAIN_MAX
      ? [...criticalPath.slice(0, 2), `${criticalPath.length - 4} more`, ...criticalPath.slice(-2)]
      : criticalPath;
  return [line, [quiet(`  Critical path: ${chain.join(" → ")}`)]];
}

const CHAIN_MAX = 8;

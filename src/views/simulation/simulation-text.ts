/** A simulation in a terminal: how long, how close to the best possible, what decides it, what stays unused, and what if. */
import type { LowerBound, ResourceUse } from "../../domain/durations/schedule.ts";
import { formatDuration, instant, type Millis } from "../../domain/time.ts";
import { blockerLines, chain } from "../report/report-text.ts";
import { type Line, paintSections, quiet, type Span, strong, type Theme, table, toned } from "../text/line.ts";
import { grouped, percent, plural } from "../text/moment.ts";
import { timelineChart } from "../timeline/timeline-text.ts";
import { amount, names, waitPhrase } from "../why/wait.ts";
import {
  changeOf,
  crewPhrase,
  DURATION_SOURCES,
  type DurationSource,
  type SimulationReport,
  timelineOfSimulation,
  type VariantReport,
} from "./simulation.ts";

/** With more tasks than this the chart shows workers, each with its use. */
const TASKS_MAX = 60;

interface Room {
  readonly columns: number;
}

export function simulationText(report: SimulationReport, { columns }: Room, theme: Theme): string[] {
  const sections: Line[][] = [
    verdictLines(report, columns),
    blockerLines({ blockers: report.stalled, now: instant(0) }, columns),
    useLines(report, columns),
    report.schedule.length === 0 ? [] : timelineChart(timelineOfSimulation(report), { columns, tasksMax: TASKS_MAX }),
    variantLines(report, columns),
  ];
  return paintSections(sections, theme, columns);
}

function verdictLines(report: SimulationReport, columns: number): Line[] {
  const { name, makespan, bound, stalled, tasks, work, criticalPath, sources, overTime } = report;
  const size = quiet(`  ${plural(tasks, "task")} on ${crewPhrase(report)}`);
  const facts: Line[][] = [[[quiet("durations")], [sourcesPhrase(sources)]]];
  if (overTime.length > 0) facts.push([[toned("warn", "time-outs")], [overTimePhrase(overTime)]]);
  if (makespan === undefined || bound === undefined) {
    const left = `cannot be finished: ${grouped(stalled.length)} of ${plural(tasks, "task")} can never start`;
    return [[toned("warn", "‖"), " ", strong(name), " ", toned("warn", left)], ...factTable(facts, columns)];
  }
  facts.unshift(
    [
      [quiet("lower bound")],
      [formatDuration(bound.ms), ": ", boundPhrase(bound), quiet(` (${closeness(makespan, bound)})`)],
    ],
    [[quiet("work")], [formatDuration(work), speedPhrase(work, makespan)]],
    [[quiet("critical path")], [chain(criticalPath)]],
  );
  return [
    [toned("good", "✔"), " ", strong(name), " ", toned("good", `would take ${formatDuration(makespan)}`), size],
    ...factTable(facts, columns),
  ];
}

const factTable = (facts: readonly (readonly Line[])[], width: number): Line[] =>
  table(facts, { columns: [{}, { shrinkTo: 20 }], width });

/** Why no order of the tasks can be faster. */
export function boundPhrase({ because }: LowerBound): string {
  switch (because.kind) {
    case "path":
      return "the longest chain of tasks";
    case "work":
      return "all work shared out evenly";
    case "pool":
      return `the work of pool ${because.name} shared out evenly`;
    case "resource":
      return `all that asks for ${because.name}`;
  }
}

/** How far the schedule is from the lower bound. */
export function closeness(makespan: Millis, { ms }: LowerBound): string {
  const over = changeOf(makespan, ms) ?? 0;
  if (makespan === ms) return "reached: nothing can be faster";
  return over < 0.1 ? "less than 0.1% above it" : `${over < 10 ? over.toFixed(1) : Math.round(over)}% above it`;
}

function speedPhrase(work: Millis, makespan: Millis): string {
  const speed = makespan === 0 ? 1 : work / makespan;
  return speed < 1.05 ? "" : `, ${speed.toFixed(1)}× as fast as one after the other`;
}

const SOURCE_WORDS: Readonly<Record<DurationSource, string>> = {
  actual: "given",
  estimate: "estimated by the plan",
  history: "recorded by earlier runs",
  unknown: "unknown, taken as 1s",
};

export const sourcesPhrase = (sources: Readonly<Record<DurationSource, number>>): string =>
  DURATION_SOURCES.filter((source) => sources[source] > 0)
    .map((source) => `${grouped(sources[source])} ${SOURCE_WORDS[source]}`)
    .join(" · ");

export const overTimePhrase = (tasks: readonly string[]): string =>
  `would stop ${plural(tasks.length, "task")}, but not here: ${names({ first: tasks.slice(0, 3), total: tasks.length }, (task) => task, 3)}`;

/** More workers than this are shown together. */
const WORKERS_MAX = 16;
const BAR_WIDTH = 20;

function useLines({ workers, resources, use, schedule }: SimulationReport, columns: number): Line[] {
  if (schedule.length === 0) return [];
  const each = workers.map((worker): Line[] => useRow(worker.worker, worker.use, plural(worker.tasks, "task")));
  const all = [useRow("workers", use, `of ${grouped(workers.length)}`)];
  const rows = [
    ...(workers.length > WORKERS_MAX || schedule.length > TASKS_MAX ? all : each),
    ...resources.map((resource): Line[] => useRow(resource.name, resource.use, `of ${capacityPhrase(resource)}`)),
  ];
  return [
    [strong("Use")],
    ...table(rows, { columns: [{ shrinkTo: 8 }, {}, { align: "right" }, { shrinkTo: 4 }], width: columns }),
  ];
}

const useRow = (name: string, use: number, detail: string): Line[] => [
  [name],
  barOf(use),
  [percent(use, 1)],
  [quiet(detail)],
];

/** Any use shows at least one column, and only full use shows all of them. */
function barOf(use: number): Line {
  const filled =
    use === 0 || use === 1 ? use * BAR_WIDTH : Math.min(BAR_WIDTH - 1, Math.max(1, Math.round(use * BAR_WIDTH)));
  return [toned("busy", "█".repeat(filled)), quiet("░".repeat(BAR_WIDTH - filled))];
}

/** `2`, `16GiB`, `400,000 every 1m`. */
export const capacityPhrase = ({ name, capacity, per }: ResourceUse): string =>
  per === undefined ? amount(name, capacity) : `${grouped(capacity)} every ${formatDuration(per)}`;

function variantLines(report: SimulationReport, columns: number): Line[] {
  const { variants } = report;
  if (variants.length === 0) return [];
  const heads = ["", "makespan", "change", "lower bound", "use"].map((word): Line => [quiet(word)]);
  const rows = [
    variantRow("as it is", report, undefined),
    ...variants.map((each) => variantRow(each.whatIf, each, changeOf(each.makespan, report.makespan))),
  ];
  const right = { align: "right" } as const;
  const never = variants.filter(({ makespan }) => makespan === undefined);
  return [
    [strong("What if")],
    ...table([heads, ...rows], { columns: [{ shrinkTo: 12 }, right, right, right, right], width: columns }),
    ...never.map(({ whatIf, stalled }): Line => [toned("warn", `  ${whatIf}: ${stuckPhrase(stalled)}`)]),
  ];
}

type Figures = Pick<VariantReport, "makespan" | "bound" | "use">;

const variantRow = (name: string, { makespan, bound, use }: Figures, change: number | undefined): Line[] =>
  makespan === undefined || bound === undefined
    ? [[name], [toned("warn", "never")]]
    : [[name], [formatDuration(makespan)], [changeSpan(change)], [formatDuration(bound.ms)], [percent(use, 1)]];

/** What blocks the tasks that cannot be finished, in a few words. */
export function stuckPhrase(stalled: VariantReport["stalled"]): string {
  const roots = stalled.filter(({ wait }) => wait.reason !== "needs");
  const [first] = roots;
  if (first === undefined) return "";
  const more = roots.length > 1 ? ` (and ${plural(roots.length - 1, "more task")} cannot start)` : "";
  return `${first.task} ${waitPhrase(first.wait, instant(0))}${more}`;
}

function changeSpan(change: number | undefined): Span {
  if (change === undefined) return "";
  const said = changePhrase(change);
  return said === "same" ? quiet(said) : toned(change < 0 ? "good" : "bad", said);
}

/** `+12%`, `-3.4%`, or `same`. */
export function changePhrase(change: number): string {
  if (change === 0) return "same";
  const size = Math.abs(change);
  const digits = size < 0.1 ? "<0.1" : size < 10 ? size.toFixed(1) : String(Math.round(size));
  return `${change < 0 ? "-" : "+"}${digits}%`;
}

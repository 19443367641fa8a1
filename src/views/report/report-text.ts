/** The end of a run on a terminal: failures first, the verdict last, because the reader looks at the last line. */

import { describeOutcome } from "../../domain/outcome.ts";
import { formatDuration } from "../../domain/time.ts";
import type { Blocker } from "../../domain/waiting/explanation.ts";
import { attemptWords } from "../status/named.ts";
import { type Line, paintSections, path, quiet, strong, type Theme, type Tone, table, toned } from "../text/line.ts";
import { grouped, percent, plural } from "../text/moment.ts";
import { countsLine, STATE_SIGNS } from "../text/sign.ts";
import { lastShown } from "../text/text.ts";
import { type CommandWriter, commandLines, plainCommand } from "../why/next.ts";
import { names, waitPhrase } from "../why/wait.ts";
import { FAILURES_MAX, type FailedReport, type Report, type ReportOutcome } from "./report.ts";

const BLOCKERS_MAX = 10;
/** In shorter runs, speed-ups and critical paths are noise. */
const WORTH_MEASURING_MS = 100;

export interface ReportOptions {
  readonly columns: number;
  readonly command?: CommandWriter;
}

export function reportText(report: Report, options: ReportOptions, theme: Theme): string[] {
  const { columns, command = plainCommand } = options;
  const { failed } = report;
  const shown = failed.slice(0, FAILURES_MAX);
  const unshown = failed.length - shown.length;
  const sections: Line[][] = [
    ...shown.map(failureLines),
    unshown > 0 ? [[STATE_SIGNS.failed, quiet(` and ${grouped(unshown)} more failed`)]] : [],
    blockerLines(report, columns),
    verdictLines(report, columns),
    commandLines(nextCommands(report, command)),
  ];
  return paintSections(sections, theme, columns);
}

function failureLines({ task, title, attempt, again, outcome, tail, log, skipped }: FailedReport): Line[] {
  const tries = again ? `, ${attemptWords({ attempt, again })}` : "";
  const lines: Line[] = [
    [
      STATE_SIGNS.failed,
      " ",
      strong(task),
      "  ",
      toned("bad", describeOutcome(outcome)),
      quiet(` after ${formatDuration(outcome.durationMs)}${tries}`),
    ],
    ...(title === undefined ? [] : [[quiet(`  ${title}`)]]),
    ...tail.map((text): Line => [quiet("  │ "), lastShown(text)]),
  ];
  if (skipped.length > 0) {
    const some = { first: skipped.slice(0, 4), total: skipped.length };
    lines.push([quiet(`  skipped because of it: ${names(some, (each) => each, 4)}`)]);
  }
  if (log !== undefined) lines.push(["  ", path(log)]);
  return lines;
}

/** Each root with the tasks that wait behind it, by name: these move when the root does. */
export function blockerLines({ blockers, now }: Pick<Report, "blockers" | "now">, columns: number): Line[] {
  if (blockers.length === 0) return [];
  const behind = Map.groupBy(
    blockers.filter(({ root }) => root !== undefined),
    ({ root }) => root?.task,
  );
  const roots = blockers.filter(({ wait }) => wait.reason !== "needs");
  const rows = roots.slice(0, BLOCKERS_MAX).map((blocker: Blocker) => {
    const waiting = (behind.get(blocker.task) ?? []).map(({ task }) => task);
    const some = { first: waiting.slice(0, BEHIND_MAX), total: waiting.length };
    return [
      [STATE_SIGNS[blocker.state], " ", strong(blocker.task)],
      [waitPhrase(blocker.wait, now)],
      [quiet(waiting.length === 0 ? "" : `behind it: ${names(some, (each) => each, BEHIND_MAX)}`)],
    ];
  });
  const more = roots.length - rows.length;
  const lines = table(rows, { columns: [{ shrinkTo: 12 }, { shrinkTo: 20 }, {}], width: columns, indent: 0 });
  return more > 0 ? [...lines, [quiet(`  and ${grouped(more)} more`)]] : lines;
}

const BEHIND_MAX = 8;

const VERDICTS: Readonly<Record<ReportOutcome, { readonly sign: string; readonly tone: Tone; readonly verb: string }>> =
  {
    succeeded: { sign: "✔", tone: "good", verb: "succeeded in" },
    failed: { sign: "✖", tone: "bad", verb: "failed after" },
    cancelled: { sign: "⊘", tone: "warn", verb: "was cancelled after" },
    waiting: { sign: "‖", tone: "warn", verb: "waits for a person, after" },
    deadlock: { sign: "‖", tone: "warn", verb: "cannot go on, after" },
    interrupted: { sign: "‖", tone: "warn", verb: "was interrupted after" },
  };

function verdictLines(report: Report, columns: number): Line[] {
  const { name, outcome, durationMs, resumed, counts, total, carried, attempts, workMs, slowest, path } = report;
  const { sign, tone, verb } = VERDICTS[outcome];
  const before = carried > 0 ? quiet(` (${grouped(carried)} by an earlier run)`) : "";
  const tries = attempts > total - carried ? quiet(` · ${plural(attempts, "attempt")}`) : "";
  const facts: Line[][] = [[[quiet("tasks")], [...countsLine(counts), before, tries]]];
  if (durationMs >= WORTH_MEASURING_MS && slowest.length > 1) {
    const speed = workMs / durationMs;
    const faster = speed >= 1.05 ? `, ${speed.toFixed(1)}× as fast as one after the other` : "";
    const longest = slowest.map(({ task, durationMs: took }) => `${task} ${formatDuration(took)}`);
    facts.push([[quiet("work")], [`${formatDuration(workMs)}${faster}`]], [[quiet("slowest")], [longest.join(" · ")]]);
    if (path.tasks.length > 1) {
      const share = percent(Math.min(path.durationMs, durationMs), durationMs);
      facts.push([[quiet("critical path")], [chain(path.tasks), quiet(` (${share} of the time)`)]]);
    }
  }
  return [
    [
      toned(tone, sign),
      " ",
      strong(name),
      " ",
      toned(tone, `${verb} ${formatDuration(durationMs)}`),
      quiet(resumed ? " (since it was resumed)" : ""),
    ],
    ...table(facts, { columns: [{}, { shrinkTo: 20 }], width: columns }),
  ];
}

/** A long chain, shortened to both its ends. */
export const chain = (tasks: readonly string[]): string =>
  tasks.length <= 5
    ? tasks.join(" → ")
    : `${tasks.slice(0, 2).join(" → ")} → … ${tasks.length - 4} … → ${tasks.slice(-2).join(" → ")}`;

function nextCommands(report: Report, command: CommandWriter): [string, string][] {
  const { run, newest, outcome, failed, blockers, file, served } = report;
  const ofRun = (...words: string[]): string => command(words, newest ? undefined : run);
  const logged = failed.find(({ log }) => log !== undefined);
  const next: [string, string][] = [];
  if (logged !== undefined) next.push([ofRun("logs", logged.task), "everything it said"]);
  const gated = blockers.find(({ wait }) => wait.reason === "gate");
  const parked = blockers.find(({ wait }) => wait.reason === "parked");
  const other = blockers.find(({ wait }) => wait.reason === "no-match");
  if (gated !== undefined) next.push([ofRun("approve", gated.task), "open its gate"]);
  if (parked !== undefined) next.push([ofRun("requeue", parked.task), "try it again, at no cost"]);
  if (other !== undefined) next.push([ofRun("why", other.task), "what it asks for"]);
  if ((outcome === "waiting" || outcome === "deadlock" || outcome === "interrupted") && !served)
    next.push([command(["run", file, "--resume"]), next.length === 0 ? "go on with the run" : "then go on"]);
  if (outcome === "failed" || outcome === "cancelled") next.push([ofRun("retry"), "run again what did not succeed"]);
  return next;
}

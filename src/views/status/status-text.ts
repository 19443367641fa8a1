/** A run on one screen: what runs, what waits and why, what failed, and what to do next. */

import type { TaskId } from "../../domain/ids.ts";
import { describeOutcome, refText } from "../../domain/outcome.ts";
import { PRIORITIES } from "../../domain/spec.ts";
import { between, formatDuration } from "../../domain/time.ts";
import type { WaitReason } from "../../domain/waiting/explanation.ts";
import type { PauseReply } from "../../wire/replies/control.ts";
import {
  type Line,
  lineWidth,
  paintSections,
  path,
  quiet,
  type Span,
  strong,
  type Theme,
  type Tone,
  table,
  toned,
} from "../text/line.ts";
import { age, grouped, percent, plural } from "../text/moment.ts";
import { countsLine, progressBar, STATE_SIGNS } from "../text/sign.ts";
import { type CommandWriter, commandLines, plainCommand } from "../why/next.ts";
import { amount, names, waitPhrase, waitTitle } from "../why/wait.ts";
import { attemptWords, named } from "./named.ts";
import type { RunState, SessionRow, StatusView } from "./status.ts";
import { wishLines } from "./wishes.ts";
import { pauseLines } from "./workers.ts";

/** Longer lists are cut, and say how many entries are left out. */
const RUNNING_MAX = 16;
const FAILED_MAX = 8;
const TAKEN_MAX = 5;
const ENDED_MAX = 16;
const EXAMPLES_MAX = 3;
const BAR_WIDTH_MAX = 60;

export interface StatusOptions {
  readonly columns: number;
  readonly command?: CommandWriter;
}

export function statusText(view: StatusView, options: StatusOptions, theme: Theme): string[] {
  const { columns, command = plainCommand } = options;
  const sections = [
    headerOf(view, columns),
    pauseLines(view.paused, view.now, columns),
    wishLines(view.wishes, view.now, columns),
    runningSection(view, columns),
    waitingSection(view, columns),
    failedSection(view, columns),
    takenSection(view, columns),
    endedSection(view, columns),
    roomSection(view, columns),
    nextSection(view, command),
  ];
  return paintSections(sections, theme, columns);
}

export const RUN_WORDS: Readonly<
  Record<RunState, { readonly word: string; readonly tone: Tone; readonly sign: string }>
> = {
  running: { word: "running", tone: "busy", sign: "●" },
  cancelling: { word: "being cancelled", tone: "warn", sign: "⊘" },
  interrupted: { word: "interrupted", tone: "warn", sign: "‖" },
  succeeded: { word: "succeeded", tone: "good", sign: "✔" },
  failed: { word: "failed", tone: "bad", sign: "✖" },
  waiting: { word: "waiting for a person", tone: "warn", sign: "‖" },
  deadlock: { word: "stalled", tone: "warn", sign: "‖" },
  cancelled: { word: "cancelled", tone: "warn", sign: "⊘" },
};

function headerOf(view: StatusView, columns: number): Line[] {
  const { word, tone, sign } = RUN_WORDS[view.state];
  const span = age(view.submittedAt, view.now);
  const verb =
    view.endedAt !== undefined
      ? `after ${formatDuration(between(view.submittedAt, view.endedAt))}`
      : view.state === "running"
        ? `for ${span}`
        : `· begun ${span} ago`;
  const owner = view.owner;
  const who = owner === undefined ? "" : ` · ${plural(owner.workers, "worker")} · pid ${owner.pid} on ${owner.host}`;
  const done = view.counts.succeeded + view.counts.failed + view.counts.skipped + view.counts.cancelled;
  const share = ` ${grouped(done)}/${grouped(view.total)} ${percent(done, view.total)}`;
  const width = Math.max(10, Math.min(BAR_WIDTH_MAX, columns - 2 - lineWidth([share])));
  return [
    [toned(tone, sign), " ", strong(view.name), "  ", toned(tone, `${word} ${verb}`), quiet(`${who}  ${view.run}`)],
    [],
    ["  ", ...progressBar(view.counts, width), share],
    ["  ", ...countsLine(view.counts)],
    ...(view.only === undefined ? [] : [onlyLine(view.only)]),
  ];
}

/** Of a run that is not the whole plan. */
function onlyLine(only: readonly TaskId[]): Line {
  const some = { first: only.slice(0, EXAMPLES_MAX), total: only.length };
  return [
    "  ",
    quiet(`only ${names(some, (id) => id, EXAMPLES_MAX)}, and what ${only.length === 1 ? "it needs" : "they need"}`),
  ];
}

function runningSection({ running, now }: StatusView, columns: number): Line[] {
  if (running.length === 0) return [];
  const rows = running
    .slice(0, RUNNING_MAX)
    .map(({ task, title, attempt, again, worker, since, stopping, state }) => [
      [STATE_SIGNS.running, " ", ...named(task, title)],
      [age(since, now)],
      [quiet(worker)],
      [toned("warn", attemptWords({ attempt, again }))],
      [stopping !== undefined ? toned("warn", `stopping: ${stopping}`) : state === "claimed" ? quiet("starting") : ""],
    ]);
  return [
    [strong("Running")],
    ...table(rows, { columns: [{ shrinkTo: 16 }, { align: "right" }, { shrinkTo: 8 }, {}, {}], width: columns }),
    ...moreLine(running.length - rows.length),
  ];
}

function waitingSection({ waiting, now }: StatusView, columns: number): Line[] {
  if (waiting.length === 0) return [];
  const groups = Map.groupBy(
    waiting.flatMap(({ tasks }) => tasks),
    ({ wait }) => waitTitle(wait),
  );
  const rows = Array.from(groups, ([title, tasks]) =>
    tasks
      .slice(0, EXAMPLES_MAX)
      .map(({ task, title: called, since, wait }, at) => [
        [at === 0 ? title : ""],
        [at === 0 ? grouped(tasks.length) : ""],
        [...named(task, called)],
        [quiet(since === undefined ? "" : age(since, now))],
        [quiet(waitPhrase(wait, now))],
      ]),
  ).flat();
  return [
    [strong("Waiting")],
    ...table(rows, {
      columns: [{}, { align: "right" }, { shrinkTo: 12 }, { align: "right" }, { shrinkTo: 12 }],
      width: columns,
    }),
  ];
}

function failedSection({ failed }: StatusView, columns: number): Line[] {
  if (failed.length === 0) return [];
  const rows = failed
    .slice(0, FAILED_MAX)
    .map(({ task, title, outcome, attempt, again, skipped, log }) => [
      [STATE_SIGNS.failed, " ", ...named(task, title)],
      [
        `${describeOutcome(outcome)} after ${formatDuration(outcome.durationMs)}`,
        quiet(again ? `, ${attemptWords({ attempt, again })}` : ""),
        quiet(skipped > 0 ? `, ${skipped} skipped` : ""),
      ],
      [log === undefined ? "" : path(log)],
    ]);
  const wide = table(rows, { columns: [{}, {}, {}], width: columns });
  // A path is of use as a whole only; where there is no room for it, `rota logs` finds it.
  const lines = wide.every((line) => lineWidth(line) <= columns)
    ? wide
    : table(
        rows.map((row) => row.slice(0, 2)),
        { columns: [{ shrinkTo: 16 }, { shrinkTo: 20 }], width: columns },
      );
  return [[strong("Failed")], ...lines, ...moreLine(failed.length - rows.length)];
}

/** Tasks that were not done again, since their key was done. */
function takenSection({ taken }: StatusView, columns: number): Line[] {
  if (taken.length === 0) return [];
  const rows = taken
    .slice(0, TAKEN_MAX)
    .map(({ task, title, from }) => [
      [STATE_SIGNS.succeeded, " ", ...named(task, title)],
      [quiet(`the result of ${refText(from)}`)],
    ]);
  return [
    [strong("Done before, by the same key")],
    ...table(rows, { columns: [{ shrinkTo: 16 }, { shrinkTo: 20 }], width: columns }),
    ...moreLine(taken.length - rows.length),
  ];
}

/** The remaining tasks of a run that has ended. With those that failed and those that wait, every task is named. */
function endedSection({ ended, taken }: StatusView, columns: number): Line[] {
  const told = new Set(taken.map(({ task }) => task));
  const others = ended.filter(({ task }) => !told.has(task));
  if (others.length === 0) return [];
  const rows = others
    .slice(0, ENDED_MAX)
    .map(({ task, title, state, durationMs }) => [
      [STATE_SIGNS[state], " ", ...named(task, title)],
      [
        quiet(
          durationMs !== undefined ? formatDuration(durationMs) : state === "succeeded" ? "by an earlier run" : state,
        ),
      ],
    ]);
  return [
    [strong("Ended")],
    ...table(rows, { columns: [{ shrinkTo: 16 }, {}], width: columns }),
    ...moreLine(others.length - rows.length),
  ];
}

const moreLine = (count: number): Line[] => (count > 0 ? [[quiet(`    and ${grouped(count)} more`)]] : []);

/** What is in use, and what waits for it. */
function roomSection({ queue, resources, sessions, endedAt }: StatusView, columns: number): Line[] {
  if (endedAt !== undefined) return [];
  const rows: Line[][] = [];
  const lanes = PRIORITIES.filter((lane) => queue[lane] > 0);
  if (lanes.length > 0)
    rows.push([[strong("Queue")], [lanes.map((lane) => `${grouped(queue[lane])} ${lane}`).join(" · ")]]);
  const used = resources.filter(({ capacity }) => capacity > 0);
  if (used.length > 0) {
    const parts = used.flatMap(({ name, used: taken, capacity }): Span[] => {
      const text = `${name} ${amount(name, taken)} of ${amount(name, capacity)}`;
      return [" · ", taken >= capacity ? toned("warn", text) : text];
    });
    rows.push([[strong("Resources")], parts.slice(1)]);
  }
  if (sessions.length > 0) rows.push([[strong("Sessions")], [sessionWords(sessions)]]);
  return table(rows, { columns: [{}, { shrinkTo: 20 }], width: columns, indent: 0 });
}

/** `writers 2 idle, 1 busy · reviewers 1 prompting`. */
function sessionWords(sessions: readonly SessionRow[]): string {
  const pools = Map.groupBy(sessions, ({ pool }) => pool);
  return Array.from(pools, ([pool, members]) => {
    const states = Map.groupBy(members, ({ state }) => state);
    return `${pool} ${Array.from(states, ([state, all]) => `${grouped(all.length)} ${state}`).join(", ")}`;
  }).join(" · ");
}

/** The few commands a person is likely to want. */
function nextSection(view: StatusView, command: CommandWriter): Line[] {
  const { state, failed, waiting, run, newest, file, paused, wishes, owner, sessions } = view;
  const next: [string, string][] = [];
  const ofRun = (...words: string[]): string => command(words, newest ? undefined : run);
  const first = (reason: WaitReason): TaskId | undefined =>
    waiting
      .find((group) => group.reason === reason)
      ?.tasks.find(({ task }) => wishes.every((wish) => wish.task !== task))?.task;
  const logged = failed.find(({ log }) => log !== undefined);
  const gated = first("gate");
  const parked = first("parked");
  const unclaimed = waiting
    .flatMap(({ tasks }) => tasks)
    .find(({ wait }) => wait.reason === "capacity" && wait.pool !== undefined);
  const stuck = first("no-match") ?? unclaimed?.task ?? first("hazard") ?? first("resources") ?? first("needs");
  if (logged !== undefined) next.push([ofRun("logs", logged.task), "what it said"]);
  const [pause] = paused;
  if (pause !== undefined) next.push([command(["resume", ...resumeWords(pause)]), "let it go on"]);
  if (gated !== undefined) next.push([ofRun("approve", gated), "open its gate"]);
  if (parked !== undefined) next.push([ofRun("requeue", parked), "try it again"]);
  if (state === "interrupted" || (wishes.length > 0 && owner === undefined))
    next.push([command(["run", file, "--resume"]), "go on with it"]);
  if (state === "interrupted" && sessions.length > 0)
    next.push([command(["serve"]), "go on with every unfinished run, and let sessions claim"]);
  if (state === "failed" || state === "cancelled") next.push([ofRun("retry"), "run again what did not succeed"]);
  if (next.length === 0 && stuck !== undefined) next.push([ofRun("why", stuck), "what it waits for"]);
  return commandLines(next);
}

/** The words that name a pause for `rota resume`. */
function resumeWords({ of, pool = "", run = "", task = "" }: PauseReply): readonly string[] {
  if (of === "scheduler") return [];
  if (of === "pool") return ["--pool", pool];
  return [...(of === "task" ? [task] : []), "--run", run];
}

/** The workers: those of this machine and the sessions, what each of them holds, and what is on hold. */

import type { SessionState } from "../../domain/sessions/session.ts";
import { type Instant, instant } from "../../domain/time.ts";
import type { DrainReply, PauseReply } from "../../wire/replies/control.ts";
import type { SessionReply, WorkerReply } from "../../wire/replies/session.ts";
import { type Line, paintSections, quiet, strong, type Theme, type Tone, table, toned } from "../text/line.ts";
import { age, grouped, plural } from "../text/moment.ts";

/** A row of the list; for a session, also what it says of itself. */
export type WorkerRow = WorkerReply & Partial<Pick<SessionReply, "agent" | "seen_at">>;

export interface WorkersInput {
  readonly workers: readonly WorkerRow[];
  readonly paused: readonly PauseReply[];
  readonly now: Instant;
}

/** How many idle workers are listed; of the others only the number matters. */
const IDLE_MAX = 8;

export function workersText(input: WorkersInput, { columns }: { readonly columns: number }, theme: Theme): string[] {
  const { workers, paused, now } = input;
  return paintSections([workerLines(workers, now, columns), pauseLines(paused, now, columns)], theme, columns);
}

function workerLines(workers: readonly WorkerRow[], now: Instant, width: number): Line[] {
  const idle = workers.filter(isIdleLocal);
  const left = new Set(idle.slice(IDLE_MAX));
  const rows = workers.filter((worker) => !left.has(worker)).map((worker) => workerCells(worker, now));
  const columns = [{ shrinkTo: 12 }, { shrinkTo: 8 }, {}, { shrinkTo: 12 }, { align: "right" }, {}] as const;
  const more: Line[] = left.size > 0 ? [[quiet(`  and ${grouped(left.size)} more that are idle`)]] : [];
  return [...table(rows, { columns, width, indent: 0 }), ...more];
}

const isIdleLocal = ({ kind, state }: WorkerRow): boolean => kind === "local" && state === "idle";

function workerCells(
  { worker, pool, state, task, run, since, seen_at, started_at, agent }: WorkerRow,
  now: Instant,
): Line[] {
  const { sign, tone } = (SESSION_SIGNS as Signs)[state] ?? { sign: "·", tone: "quiet" };
  const kind = agent === undefined || agent === pool ? pool : `${pool} · ${agent}`;
  return [
    [toned(tone, sign), " ", worker],
    [quiet(kind)],
    [toned(tone, state)],
    task === undefined ? [] : [task, quiet(run === undefined ? "" : ` of ${run}`)],
    [since === undefined ? "" : age(momentOf(since), now)],
    [quiet(lastWords(seen_at, started_at, now))],
  ];
}

/** Of a session when it was last heard of; of a worker of this machine since when it works. */
function lastWords(seen: string | undefined, started: string | undefined, now: Instant): string {
  if (seen !== undefined) return `seen ${age(momentOf(seen), now)} ago`;
  return started === undefined ? "" : `started ${age(momentOf(started), now)} ago`;
}

export const SESSION_SIGNS: Readonly<Record<SessionState, { readonly sign: string; readonly tone: Tone }>> = {
  idle: { sign: "○", tone: "quiet" },
  busy: { sign: "●", tone: "busy" },
  prompting: { sign: "‖", tone: "warn" },
  stalled: { sign: "‖", tone: "warn" },
  quarantined: { sign: "⊘", tone: "bad" },
};

/** The state of a worker may be a word of a later version. */
type Signs = Readonly<Record<string, (typeof SESSION_SIGNS)[SessionState]>>;

/** The pauses, each with the person who asked for it and why. */
export function pauseLines(paused: readonly PauseReply[], now: Instant, width: number): Line[] {
  if (paused.length === 0) return [];
  const rows = paused.map((pause): Line[] => [
    [toned("warn", "‖"), " ", pausedWhat(pause)],
    [quiet(`asked by ${pause.by}`), quiet(pause.why === undefined ? "" : `: ${pause.why}`)],
    [quiet(`${age(momentOf(pause.at), now)} ago`)],
  ]);
  return [[strong("On hold")], ...table(rows, { columns: [{ shrinkTo: 16 }, { shrinkTo: 16 }, {}], width })];
}

export function pausedWhat({ of, pool, run, task }: Pick<PauseReply, "of" | "pool" | "run" | "task">): string {
  switch (of) {
    case "scheduler":
      return "everything";
    case "pool":
      return `pool ${pool}`;
    case "run":
      return `run ${run}`;
    case "task":
      return `task ${task}${run === undefined ? "" : ` of ${run}`}`;
  }
}

/** Leases that were not handed back. */
export function remainingText(
  remaining: DrainReply["remaining"],
  { columns }: { readonly columns: number },
  theme: Theme,
): string[] {
  const rows = remaining.map(({ run, task, worker }): Line[] => [
    [toned("busy", "●"), " ", task],
    [quiet(`of ${run}`)],
    [quiet(`with ${worker}`)],
  ]);
  const head: Line = [toned("warn", `${plural(remaining.length, "task")} still out`)];
  const lines = table(rows, { columns: [{ shrinkTo: 16 }, { shrinkTo: 12 }, { shrinkTo: 12 }], width: columns });
  return paintSections([[head, ...lines]], theme, columns);
}

/** Text that is not a moment counts as long ago. */
export const momentOf = (text: string): Instant => instant(Date.parse(text) || 0);

/** Where each attempt is drawn: rows by worker, bars by time, and bars that would be too small joined. */
import type { Instant } from "../../domain/time.ts";
import type { AttemptEnd } from "./attempt-end.ts";
import { beginOf, type Timeline, type TimelineAttempt } from "./timeline.ts";

/** One or more attempts drawn as one rectangle, in units of the picture. */
export interface Bar {
  readonly x: number;
  readonly width: number;
  readonly row: number;
  /** The worst end among them. */
  readonly end: AttemptEnd;
  readonly critical: boolean;
  /** The first attempt of the bar; the only one unless `count` is more. */
  readonly attempt: TimelineAttempt;
  readonly count: number;
}
export interface Lane {
  readonly worker: string;
  readonly firstRow: number;
  readonly rows: number;
  /** The share of the time in which the worker worked. */
  readonly use: number;
}
export interface Gantt {
  readonly lanes: readonly Lane[];
  readonly bars: readonly Bar[];
  readonly rows: number;
}

/** A bar that is narrower than this is joined with its neighbours. */
const BAR_WIDTH_MIN = 1.5;

/** Worst first: the end that a bar of several attempts shows. */
export const SEVERITY: readonly AttemptEnd[] = [
  "failed",
  "parked",
  "lost",
  "retried",
  "cancelled",
  "released",
  "running",
  "succeeded",
];

export function layOut(timeline: Timeline, width: number): Gantt {
  const { from, to, workers } = timeline;
  const span = Math.max(1, to - from);
  const toX = (at: Instant): number => Math.min(width, Math.max(0, ((at - from) / span) * width));
  const byWorker = new Map<string, TimelineAttempt[]>(workers.map((worker) => [worker, []]));
  for (const attempt of timeline.attempts) byWorker.get(attempt.worker)?.push(attempt);
  const lanes: Lane[] = [];
  const bars: Bar[] = [];
  let row = 0;
  for (const [worker, attempts] of byWorker) {
    const rows = stack(attempts, to);
    for (const [at, of] of rows.entries()) {
      for (const bar of join(of.map((attempt) => barOf(attempt, row + at, to, toX)))) bars.push(bar);
    }
    const busy = attempts.reduce((sum, attempt) => sum + endOf(attempt, to) - beginOf(attempt), 0);
    lanes.push({ worker, firstRow: row, rows: rows.length, use: busy / span });
    row += rows.length;
  }
  return { lanes, bars, rows: row };
}

const endOf = ({ endedAt }: TimelineAttempt, to: Instant): Instant => endedAt ?? to;

/** A worker with several slots gets as many rows as it had tasks at once. */
function stack(attempts: readonly TimelineAttempt[], to: Instant): readonly TimelineAttempt[][] {
  const rows: TimelineAttempt[][] = [];
  for (const attempt of [...attempts].sort((a, b) => beginOf(a) - beginOf(b))) {
    const free = rows.find((row) => endOf(row.at(-1) as TimelineAttempt, to) <= beginOf(attempt));
    if (free === undefined) rows.push([attempt]);
    else free.push(attempt);
  }
  return rows;
}

function barOf(attempt: TimelineAttempt, row: number, to: Instant, toX: (at: Instant) => number): Bar {
  const x = toX(beginOf(attempt));
  const width = toX(endOf(attempt, to)) - x;
  return { x, width, row, end: attempt.end, critical: attempt.critical, attempt, count: 1 };
}

/** Neighbours that are each too narrow become one bar. */
function join(bars: readonly Bar[]): readonly Bar[] {
  const joined: Bar[] = [];
  for (const bar of bars) {
    const last = joined.at(-1);
    const small = bar.width < BAR_WIDTH_MIN && last !== undefined && (last.count > 1 || last.width < BAR_WIDTH_MIN);
    if (small && bar.x - (last.x + last.width) < BAR_WIDTH_MIN) {
      joined[joined.length - 1] = {
        ...last,
        width: Math.max(last.width, bar.x + bar.width - last.x),
        end: SEVERITY.find((end) => end === last.end || end === bar.end) as AttemptEnd,
        critical: last.critical || bar.critical,
        count: last.count + 1,
      };
    } else joined.push(bar);
  }
  return joined;
}

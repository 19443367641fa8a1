/** The chain of tasks that decided when the last one ended: from the last task, back to the task whose end let each of them begin. */

import type { Placement } from "../domain/durations/schedule.ts";
import { overlaps } from "../domain/paths.ts";
import { type Run, taskOf } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { invariant } from "../std/invariant.ts";

/** First link first. On virtual time a task begins at the very moment at which another ends, so only the wait for a rate leaves a gap. */
export function criticalPath(run: Run, schedule: readonly Placement[]): readonly Placement[] {
  const chart = chartOf(run, schedule);
  const path: Placement[] = [];
  for (let at = lastToEnd(schedule); at !== undefined; at = before(at, chart)) path.push(schedule[at] as Placement);
  return path.reverse();
}

/** The schedule with its indexes. Links are places in it, and each is earlier than the task it let begin. */
interface Chart {
  readonly run: Run;
  readonly schedule: readonly Placement[];
  /** By task number. */
  readonly placeOf: Int32Array;
  /** Places in the order of their ends, then of their starts. */
  readonly byEnd: Int32Array;
}

function chartOf(run: Run, schedule: readonly Placement[]): Chart {
  const placeOf = new Int32Array(run.tasks.length).fill(-1);
  for (const [at, { no }] of schedule.entries()) placeOf[no] = at;
  const ends = Float64Array.from(schedule, ({ end }) => end);
  const byEnd = Int32Array.from(schedule.keys()).sort((a, b) => (ends[a] as number) - (ends[b] as number) || a - b);
  return { run, schedule, placeOf, byEnd };
}

function lastToEnd(schedule: readonly Placement[]): number | undefined {
  let last: number | undefined;
  for (const [at, { end }] of schedule.entries()) {
    if (last === undefined || end >= (schedule[last] as Placement).end) last = at;
  }
  return last;
}

/** The need that ended last, if the task began at that moment; else the task whose end made room for it. */
function before(at: number, chart: Chart): number | undefined {
  const { start } = chart.schedule[at] as Placement;
  const need = lastNeed(at, chart);
  if (need !== undefined && (chart.schedule[need] as Placement).end === start) return need;
  return start === 0 ? undefined : (madeRoom(at, chart) ?? need);
}

function lastNeed(at: number, { run, schedule, placeOf }: Chart): number | undefined {
  let last: number | undefined;
  run.graph.eachNeed((schedule[at] as Placement).no, (need) => {
    const place = placeOf[need] as number;
    invariant(place >= 0, "what a task needs was done before it");
    const later = last === undefined ? 1 : endAt(schedule, place) - endAt(schedule, last) || place - last;
    if (later > 0) last = place;
  });
  return last;
}

const endAt = (schedule: readonly Placement[], at: number): number => (schedule[at] as Placement).end;

/** When thousands of tasks end at one moment, it is enough to look at the last of them. */
const ENDS_MAX = 256;

/** Of all tasks that ended at that moment, the task that held most of what this one waited for. */
function madeRoom(at: number, { run, schedule, byEnd }: Chart): number | undefined {
  const { start, no, worker } = schedule[at] as Placement;
  const { spec } = taskOf(run, no);
  let best: number | undefined;
  let most = -1;
  const upTo = countBefore(
    byEnd,
    (place) => endAt(schedule, place) < start || (endAt(schedule, place) === start && place < at),
  );
  for (let index = upTo - 1; index >= Math.max(0, upTo - ENDS_MAX); index--) {
    const place = byEnd[index] as number;
    const other = schedule[place] as Placement;
    if (other.end < start) break;
    const had = stoodInTheWay(taskOf(run, other.no).spec, spec) * 2 + (other.worker === worker ? 1 : 0);
    if (had > most) [best, most] = [place, had];
  }
  return best;
}

/** Files come before resources: of a resource there may have been enough for both tasks. */
function stoodInTheWay(holder: TaskSpec, waiting: TaskSpec): number {
  if (collide(holder, waiting)) return 2;
  for (const name in waiting.resources) if ((holder.resources[name] ?? 0) > 0) return 1;
  return 0;
}

function collide(a: TaskSpec, b: TaskSpec): boolean {
  const meet = (some: readonly string[], others: readonly string[]): boolean =>
    some.some((path) => others.some((other) => overlaps(path, other)));
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

/** How many places at the beginning of `places` hold, found by bisection: those that hold come first. */
function countBefore(places: Int32Array, holds: (place: number) => boolean): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(places[middle] as number)) low = middle + 1;
    else high = middle;
  }
  return low;
}

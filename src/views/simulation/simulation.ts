/** The result of a simulation, for people and programs: one model, also as JSON or as a timeline to be drawn. */

import type { LowerBound, Placement, ResourceUse, WorkerUse } from "../../domain/durations/schedule.ts";
import { runId, type TaskId } from "../../domain/ids.ts";
import { instant, type Millis } from "../../domain/time.ts";
import type { Blocker } from "../../domain/waiting/explanation.ts";
import type { FiguresReply, SimulationReply } from "../../wire/replies/plan.ts";
import { plural } from "../text/moment.ts";
import type { Timeline } from "../timeline/timeline.ts";
import { waitPhrase } from "../why/wait.ts";

/** The figures of one site. */
interface Figures {
  readonly nodes: number;
  /** Absent when the plan cannot be finished. */
  readonly makespan?: Millis;
  readonly bound?: LowerBound;
  /** The share of the workers' time in which they work, from 0 to 1. */
  readonly use: number;
  /** Tasks that can never start, and why. */
  readonly stalled: readonly Blocker[];
}

export interface SimulationReport extends Figures {
  readonly name: string;
  readonly tasks: number;
  /** In the order of their starts. */
  readonly schedule: readonly Placement[];
  /** The chain that decided when the last task ended, first to last. */
  readonly criticalPath: readonly TaskId[];
  readonly workers: readonly WorkerUse[];
  readonly resources: readonly ResourceUse[];
  /** All durations together. */
  readonly work: Millis;
  /** How many durations come from each source. */
  readonly sources: Readonly<Record<DurationSource, number>>;
  /** Tasks that last longer than their time-out, which stops nothing here. */
  readonly overTime: readonly TaskId[];
  readonly variants: readonly VariantReport[];
}

export const DURATION_SOURCES = ["actual", "estimate", "history", "unknown"] as const;
export type DurationSource = (typeof DURATION_SOURCES)[number];

/** The same plan with other workers or resources. */
export interface VariantReport extends Figures {
  /** As the user typed it: `workers=8`. */
  readonly whatIf: string;
}

/** `2 workers and 3 sessions`. */
export function crewPhrase({ workers }: Pick<SimulationReport, "workers">): string {
  const sessions = workers.filter(({ pool }) => pool !== undefined).length;
  const local = plural(workers.length - sessions, "worker");
  return sessions === 0 ? local : `${local} and ${plural(sessions, "session")}`;
}

/** How much longer `makespan` is than `than`, in percent; nothing when one of them is not known. */
export const changeOf = (makespan: Millis | undefined, than: Millis | undefined): number | undefined =>
  makespan === undefined || than === undefined || than === 0 ? undefined : (makespan / than - 1) * 100;

export const simulationJson = (report: SimulationReport): SimulationReply => ({
  ...figuresJson(report),
  critical_path: report.criticalPath,
  schedule: report.schedule.map(({ task, worker, start, end }) => ({ task, worker, start_ms: start, end_ms: end })),
  workers: report.workers.map(({ worker, pool, tasks, busy, use }) => ({
    worker,
    ...(pool !== undefined && { pool }),
    tasks,
    busy_ms: busy,
    use: share(use),
  })),
  resources: report.resources.map(({ name, capacity, per, use }) => ({
    name,
    capacity,
    ...(per !== undefined && { per_ms: per }),
    use: share(use),
  })),
  durations: report.sources,
  over_timeout: report.overTime,
  variants: report.variants.map((variant) => ({
    what_if: variant.whatIf,
    ...figuresJson(variant),
    change_percent: rounded(changeOf(variant.makespan, report.makespan), 100),
  })),
});

const figuresJson = ({ makespan, bound, use, stalled }: Figures): FiguresReply => ({
  makespan_ms: makespan ?? null,
  lower_bound_ms: bound?.ms ?? null,
  lower_bound_because: bound === undefined ? null : "name" in bound.because ? bound.because.name : bound.because.kind,
  use: share(use),
  ...(stalled.length > 0 && {
    stalled: stalled.map(({ task, wait }) => ({ task, reason: wait.reason, why: waitPhrase(wait, instant(0)) })),
  }),
});

const share = (use: number): number | null => rounded(use, 10_000);
const rounded = (value: number | undefined, parts: number): number | null =>
  value === undefined ? null : Math.round(value * parts) / parts;

/** The simulation as a timeline: the code that draws runs draws this. */
export function timelineOfSimulation({ name, tasks, schedule, criticalPath, workers }: SimulationReport): Timeline {
  const critical = new Set(criticalPath);
  return {
    run: runId("simulation"),
    name,
    state: "predicted",
    from: instant(0),
    to: instant(schedule.reduce((last, { end }) => Math.max(last, end), 0)),
    tasks,
    attempts: schedule.map(({ task, worker, start, end }) => ({
      task,
      attempt: 1,
      worker,
      claimedAt: start,
      startedAt: start,
      endedAt: end,
      end: "succeeded",
      critical: critical.has(task),
    })),
    workers: workers.filter((each) => each.tasks > 0).map(({ worker }) => worker),
    criticalPath,
  };
}

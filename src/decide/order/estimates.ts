/** How long each task will take, as far as it is known: the plan first, then what was recorded, then nothing but the graph. */
import { knownDuration } from "../../domain/durations/estimate.ts";
import type { DurationRecord, EstimateError } from "../../domain/durations/history.ts";
import type { TaskSpec } from "../../domain/spec.ts";

export const ESTIMATE_SOURCES = ["plan", "history", "typical", "hops"] as const;

export interface Estimates {
  /** In milliseconds, or in hops when no duration is known. Shrunk towards the mean: ranks are made of these. */
  readonly costs: Float64Array;
  /** Index into `ESTIMATE_SOURCES` by task. */
  readonly sources: Uint8Array;
  /** Whether the costs are times, and not hops. */
  readonly known: boolean;
  /** How far estimates were off in earlier runs. */
  readonly error: EstimateError;
}

/** Below this many observations the error of the estimates is not known, and they are taken at their word. */
const ERROR_COUNT_MIN = 5;

export function estimate(
  specs: readonly TaskSpec[],
  recorded: (spec: TaskSpec) => DurationRecord | undefined,
  error: EstimateError,
): Estimates {
  const costs = new Float64Array(specs.length);
  const sources = new Uint8Array(specs.length);
  const logs: number[] = [];
  for (let no = 0; no < specs.length; no++) {
    const spec = specs[no] as TaskSpec;
    const known = knownDuration(spec, recorded);
    if (known === undefined) continue;
    costs[no] = Math.max(0, known.ms);
    sources[no] = ESTIMATE_SOURCES.indexOf(known.source);
    if (known.ms > 0) logs.push(Math.log(known.ms));
  }
  if (logs.length === 0)
    return { costs: costs.fill(1), sources: sources.fill(ESTIMATE_SOURCES.indexOf("hops")), known: false, error };
  return shrink(specs, costs, sources, logs, error);
}

/**
 * Moves the estimates towards their mean, in log space, by the share of the spread that is error: d' = exp(μ + a·(ln d − μ)). Never worse
 * than ignoring the estimates, and never worse than trusting them.
 */
function shrink(
  specs: readonly TaskSpec[],
  costs: Float64Array,
  sources: Uint8Array,
  logs: readonly number[],
  error: EstimateError,
): Estimates {
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / logs.length;
  const keep = trust(variance, error);
  const typical = Math.exp(mean);
  for (let no = 0; no < specs.length; no++) {
    const known = (specs[no] as TaskSpec).estimate !== undefined || sources[no] === ESTIMATE_SOURCES.indexOf("history");
    if (!known) {
      costs[no] = typical;
      sources[no] = ESTIMATE_SOURCES.indexOf("typical");
    } else if (keep < 1 && (costs[no] as number) > 0) {
      costs[no] = Math.exp(mean + keep * (Math.log(costs[no] as number) - mean));
    }
  }
  return { costs, sources, known: true, error };
}

/** The share of the estimates' spread that is not error. */
export function trust(variance: number, { count, sumOfSquares }: EstimateError): number {
  if (count < ERROR_COUNT_MIN || variance === 0) return 1;
  return Math.max(0, variance - sumOfSquares / count) / variance;
}

/** How full the queue is, and what that changes: longer patience, fewer at once, only what matters most. */
import { type Run, remaining } from "../../domain/run.ts";
import { PRIORITIES, type Priority } from "../../domain/spec.ts";

export const PRESSURE_MODES = ["normal", "moderate", "high", "critical"] as const;
export type PressureMode = (typeof PRESSURE_MODES)[number];

interface ModePolicy {
  /** Time-outs are multiplied by this: a loaded machine is slow, not broken. */
  readonly timeoutFactor: number;
  /** Share of the workers that are given work; never less than one worker. */
  readonly parallelism: number;
  readonly dispatches: readonly Priority[];
  readonly admits: readonly Priority[];
}

export const PRESSURE_POLICY: Readonly<Record<PressureMode, ModePolicy>> = {
  normal: { timeoutFactor: 1, parallelism: 1, dispatches: PRIORITIES, admits: PRIORITIES },
  moderate: { timeoutFactor: 1.5, parallelism: 0.75, dispatches: PRIORITIES, admits: PRIORITIES },
  high: { timeoutFactor: 2.5, parallelism: 0.25, dispatches: ["critical", "high", "normal"], admits: PRIORITIES },
  critical: { timeoutFactor: 5, parallelism: 0, dispatches: ["critical"], admits: ["critical"] },
};

/** The mode, and the numbers it follows from. */
export interface Pressure {
  readonly mode: PressureMode;
  /** Tasks that wait, over all runs. */
  readonly queued: number;
  readonly depth: number;
}
export const NO_PRESSURE: Pressure = { mode: "normal", queued: 0, depth: Number.POSITIVE_INFINITY };

export interface PressureLimits {
  /** Tasks the queue is meant to hold. */
  readonly depth: number;
  /** Shares of the depth at which moderate, high and critical begin. */
  readonly thresholds: readonly [number, number, number];
}

export const PRESSURE_PRESETS = {
  standard: { depth: 10_000, thresholds: [0.5, 0.8, 0.95] },
  strict: { depth: 1_000, thresholds: [0.3, 0.6, 0.85] },
  permissive: { depth: 50_000, thresholds: [0.7, 0.9, 0.98] },
} as const satisfies Record<string, PressureLimits>;
export type PressurePreset = keyof typeof PRESSURE_PRESETS;

/** How many tasks wait, over all runs. */
export function queuedIn(runs: Iterable<Run>): number {
  let queued = 0;
  for (const run of runs) queued += remaining(run) - run.counts.claimed - run.counts.running;
  return queued;
}

/** How far the queue must fall below a threshold before its mode is left: a queue at the edge would change its mind all the time. */
export const HYSTERESIS = 0.05;

/** The mode for this many queued tasks, coming from `current`. */
export function pressureMode(
  current: PressureMode,
  queued: number,
  { depth, thresholds }: PressureLimits,
): PressureMode {
  const level = queued / depth;
  const entered = thresholds.filter((threshold) => level >= threshold).length;
  const kept = thresholds.filter((threshold) => level >= threshold - HYSTERESIS).length;
  const now = PRESSURE_MODES.indexOf(current);
  return PRESSURE_MODES[Math.max(entered, Math.min(now, kept))] as PressureMode;
}

/** How many of `workers` may be busy at once. */
export const workersAllowed = (mode: PressureMode, workers: number): number =>
  Math.min(workers, Math.max(1, Math.floor(workers * PRESSURE_POLICY[mode].parallelism)));

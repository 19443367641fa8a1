/** What earlier runs of a plan have shown about how long its tasks take. */

/** Durations of one task, in log space, where being off by half and by double are alike. */
export interface DurationRecord {
  readonly count: number;
  /** Mean of ln(duration in ms); older runs count less and less. */
  readonly meanLog: number;
}

/** How far the plan's estimates were off: ln(actual / estimated). */
export interface EstimateError {
  readonly count: number;
  readonly sumOfSquares: number;
}

export interface History {
  /** By task id. */
  readonly durations: ReadonlyMap<string, DurationRecord>;
  readonly error: EstimateError;
}

export const NO_HISTORY: History = { durations: new Map(), error: { count: 0, sumOfSquares: 0 } };

/** Runs after which an older one has lost most of its weight. */
const HISTORY_MEMORY = 20;

/** One task's latest duration, to be added to what is known of it. */
export interface DurationSample {
  readonly task: string;
  readonly logMs: number;
  /** ln(actual / estimated), squared, where there was an estimate. */
  readonly errorSquared?: number;
}

/** The mean after one more. */
const learn = (known: DurationRecord | undefined, logMs: number): DurationRecord => {
  if (known === undefined) return { count: 1, meanLog: logMs };
  const count = known.count + 1;
  return { count, meanLog: known.meanLog + (logMs - known.meanLog) / Math.min(count, HISTORY_MEMORY) };
};

/** The history after a run has added these durations. */
export function afterSamples({ durations, error }: History, durationSamples: readonly DurationSample[]): History {
  const known = new Map(durations);
  let { count, sumOfSquares } = error;
  for (const { task, logMs, errorSquared } of durationSamples) {
    known.set(task, learn(known.get(task), logMs));
    if (errorSquared === undefined) continue;
    count++;
    sumOfSquares += errorSquared;
  }
  return { durations: known, error: { count, sumOfSquares } };
}

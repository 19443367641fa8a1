/** The durations of a finished run's tasks, for the estimates of later runs. */
import type { DurationSample } from "../../domain/durations/history.ts";
import { isTaken } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";

/** Of a larger run only the first tasks are recorded: writing more would make its last commit long. */
const SAMPLES_MAX = 20_000;

export function durationSamplesOf(run: Run): readonly DurationSample[] {
  const durationSamples: DurationSample[] = [];
  for (const { spec, status, attempt } of run.tasks) {
    if (durationSamples.length === SAMPLES_MAX) break;
    if (status.state !== "succeeded" || attempt === 0 || isTaken(status.outcome)) continue;
    const logMs = Math.log(Math.max(1, status.outcome.durationMs));
    const error = spec.estimate === undefined || spec.estimate <= 0 ? undefined : logMs - Math.log(spec.estimate);
    durationSamples.push({ task: spec.id, logMs, ...(error !== undefined && { errorSquared: error ** 2 }) });
  }
  return durationSamples;
}

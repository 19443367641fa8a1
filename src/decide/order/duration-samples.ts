/** The durations of a finished run's tasks, for the estimates of later runs. */
import type { Lesson } from "../../domain/durations/history.ts";
import { isTaken } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";

/** Of a larger run only the first tasks are recorded: writing more would make its last commit long. */
const LESSONS_MAX = 20_000;

export function lessonsOf(run: Run): readonly Lesson[] {
  const lessons: Lesson[] = [];
  for (const { spec, status, attempt } of run.tasks) {
    if (lessons.length === LESSONS_MAX) break;
    if (status.state !== "succeeded" || attempt === 0 || isTaken(status.outcome)) continue;
    const logMs = Math.log(Math.max(1, status.outcome.durationMs));
    const error = spec.estimate === undefined || spec.estimate <= 0 ? undefined : logMs - Math.log(spec.estimate);
    lessons.push({ task: spec.id, logMs, ...(error !== undefined && { errorSquared: error ** 2 }) });
  }
  return lessons;
}

/** What a finished run teaches about how long its tasks take. */
import type { Lesson } from "../domain/history.ts";
import { isTaken } from "../domain/outcome.ts";
import type { Run } from "../domain/run.ts";

/** A larger run teaches about its first tasks only: writing down more would make its last moment long. */
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

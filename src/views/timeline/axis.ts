/** A scale of time with marks at round places. */
import { formatDuration, type Millis, millis } from "../../domain/time.ts";

/** Round steps for people, in milliseconds. */
const STEPS = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  900_000, 1_800_000, 3_600_000, 7_200_000, 10_800_000, 21_600_000, 43_200_000, 86_400_000,
];
const DAY = 86_400_000;

export interface Mark {
  readonly at: Millis;
  readonly label: string;
}

/** Marks from zero up to the span, at most `most` of them beside the first. */
export function marks(span: Millis, most: number): readonly Mark[] {
  const wanted = span / Math.max(1, most);
  const step = STEPS.find((each) => each >= wanted) ?? Math.ceil(wanted / DAY) * DAY;
  return Array.from({ length: Math.floor(span / step) + 1 }, (_, at) => ({
    at: millis(at * step),
    label: formatDuration(millis(at * step)),
  }));
}

/** Moments and spans of time, as two types that do not mix. */
declare const unit: unique symbol;

/** Milliseconds since 1970 on the scheduler's clock. */
export type Instant = number & { readonly [unit]: "Instant" };
/** A span of time in milliseconds. */
export type Millis = number & { readonly [unit]: "Millis" };

export const instant = (raw: number): Instant => raw as Instant;
export const millis = (raw: number): Millis => raw as Millis;
export const seconds = (count: number): Millis => millis(count * 1_000);
export const minutes = (count: number): Millis => millis(count * 60_000);
export const hours = (count: number): Millis => millis(count * 3_600_000);

export const later = (from: Instant, by: Millis): Instant => instant(from + by);
/** The earliest of the moments that are known. */
export function earliest(...moments: readonly (Instant | undefined)[]): Instant | undefined {
  let first: Instant | undefined;
  for (const each of moments) if (each !== undefined && (first === undefined || each < first)) first = each;
  return first;
}
export const between = (from: Instant, to: Instant): Millis => millis(to - from);

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const DURATION = /^(\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/;
/** Longer than any task, short enough that adding it to an instant stays exact. */
export const DURATION_MAX = millis(366 * 86_400_000);

/** Reads `0s`, `250ms`, `90s`, `5m`, `1h30m`. Nothing when it is not a duration, or one of more than a year. */
export function parseDuration(text: string): Millis | undefined {
  if (!DURATION.test(text)) return undefined;
  let total = 0;
  for (const [, count, unitName] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    total += Number(count) * (UNITS[unitName as string] as number);
  }
  const whole = Math.round(total);
  return whole <= DURATION_MAX ? millis(whole) : undefined;
}

/** The shortest honest way to say a span: `0s`, `250ms`, `1.5s`, `2m05s`, `1h30m`, `3d04h`. */
export function formatDuration(span: Millis): string {
  const total = Math.max(0, Math.round(span));
  if (total === 0) return "0s";
  if (total < 1_000) return `${total}ms`;
  if (total < 59_950) return `${trim(total / 1_000)}s`;
  const wholeSeconds = Math.round(total / 1_000);
  if (wholeSeconds < 3_600) return two(Math.floor(wholeSeconds / 60), "m", wholeSeconds % 60, "s");
  const wholeMinutes = Math.round(wholeSeconds / 60);
  if (wholeMinutes < 1_440) return two(Math.floor(wholeMinutes / 60), "h", wholeMinutes % 60, "m");
  const wholeHours = Math.round(wholeMinutes / 60);
  return two(Math.floor(wholeHours / 24), "d", wholeHours % 24, "h");
}

const trim = (value: number): string => (value >= 10 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, ""));
const two = (big: number, bigUnit: string, small: number, smallUnit: string): string =>
  small === 0 ? `${big}${bigUnit}` : `${big}${bigUnit}${String(small).padStart(2, "0")}${smallUnit}`;

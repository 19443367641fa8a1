/** When a limit ends, from the words that a provider chose for people. */
import { type Instant, instant, type Millis, millis } from "../domain/time.ts";

const SPAN =
  /\b(?:try again|resets?|retry)\s+(?:in|after)\s+((?:\d+(?:\.\d+)?\s*(?:seconds?|minutes?|hours?|days?|ms|s|m|h|d)[\s,]*(?:and\s+)?)+)/i;
const PART = /(\d+(?:\.\d+)?)\s*(seconds?|minutes?|hours?|days?|ms|s|m|h|d)\b/gi;
const CLOCK = /\b(?:try again at|resets?(?: at)?)\s+(\d{1,2})(?::(\d{2}))?\s*([ap]m)?(?:\s*\((UTC)\))?/i;
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, s: 1_000 };
const MINUTE = 60_000;
const DAY = 86_400_000;

/** `zone`: how far local time is ahead of UTC, since some programs say the time of day on the local clock. */
export function resetIn(words: string, now: Instant, zone: Millis): Instant | undefined {
  const span = SPAN.exec(words)?.[1];
  if (span !== undefined) return instant(now + spanOf(span));
  const clock = CLOCK.exec(words);
  if (clock === null) return undefined;
  const [, hour, minute = "0", half, utc] = clock;
  // A bare number is no time of day: "resets 3 times".
  if (half === undefined && clock[2] === undefined) return undefined;
  return nextAt(minutesOfDay(Number(hour), Number(minute), half), now, utc === undefined ? zone : millis(0));
}

function spanOf(words: string): number {
  let total = 0;
  for (const [, amount, unit = ""] of words.matchAll(PART)) {
    total += Number(amount) * (unit.toLowerCase() === "ms" ? 1 : (UNITS[unit.charAt(0).toLowerCase()] ?? 0));
  }
  return total;
}

const minutesOfDay = (hour: number, minute: number, half: string | undefined): number =>
  (half === undefined ? hour : (hour % 12) + (half.toLowerCase() === "pm" ? 12 : 0)) * 60 + minute;

/** The next time that a clock of this zone shows so many minutes of the day. */
function nextAt(minutes: number, now: Instant, zone: Millis): Instant {
  const local = now + zone;
  const today = local - (local % DAY) + minutes * MINUTE;
  return instant((today > local ? today : today + DAY) - zone);
}

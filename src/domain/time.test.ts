import fc from "fast-check";
import { expect, test } from "vitest";
import { always } from "../../test/rig/property.ts";
import {
  between,
  DURATION_MAX,
  formatDuration,
  hours,
  instant,
  later,
  millis,
  minutes,
  parseDuration,
  seconds,
} from "./time.ts";

test.each([
  ["0s", 0],
  ["250ms", 250],
  ["90s", 90_000],
  ["1.5s", 1_500],
  ["5m", 300_000],
  ["1h30m", 5_400_000],
  ["1d", 86_400_000],
  ["366d", DURATION_MAX],
])("%s is %d milliseconds", (text, span) => {
  expect(parseDuration(text)).toBe(span);
});

test.each([
  "",
  "5",
  "-1s",
  "1 s",
  "s",
  "1e3s",
  "NaNs",
  "Infinitys",
  "367d",
  "275760y",
  "1s,",
  "1S",
  `${"9".repeat(400)}s`,
  "١s",
])("%j is not a duration", (text) => {
  expect(parseDuration(text)).toBeUndefined();
});

test.each([
  [millis(0), "0s"],
  [millis(250), "250ms"],
  [millis(1_500), "1.5s"],
  [millis(59_960), "1m"],
  [seconds(125), "2m05s"],
  [minutes(90), "1h30m"],
  [hours(76), "3d04h"],
])("%d milliseconds are shown as %s", (span, text) => {
  expect(formatDuration(span)).toBe(text);
});

test("what is shown reads back, to the precision it is shown with", async () => {
  const span = fc.integer({ min: 0, max: DURATION_MAX });
  const readsBack = fc.property(span, (raw) => {
    const again = parseDuration(formatDuration(millis(raw))) as number;
    expect(Math.abs(again - raw)).toBeLessThanOrEqual(Math.max(1, raw * 0.05));
  });
  await always(100, readsBack);
});

test("a duration is whole milliseconds within a year, or nothing, and never takes long", async () => {
  const text = fc.array(fc.constantFrom("1", "99", ".5", "ms", "s", "m", "h", "d", " ", "-"), { maxLength: 200 });
  const isWholeOrNothing = fc.property(text, (parts) => {
    const span = parseDuration(parts.join(""));
    expect(span === undefined || (Number.isSafeInteger(span) && span >= 0 && span <= DURATION_MAX)).toBe(true);
  });
  await always(100, isWholeOrNothing);
  expect(parseDuration(`${"1m".repeat(100_000)}!`)).toBeUndefined();
});

test("instants and spans add up", () => {
  expect(between(instant(5), later(instant(5), seconds(2)))).toBe(2_000);
});

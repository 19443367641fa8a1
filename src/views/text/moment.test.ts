import { expect, test } from "vitest";
import { instant } from "../../domain/time.ts";
import { timeOfDay } from "./moment.ts";

test("the time of day is the reader's own, whether or not the place is named", () => {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  for (const at of [0, 1_767_322_991_000, 1_782_864_000_999, 1_796_774_399_000].map(instant)) {
    expect(timeOfDay(at, undefined)).toBe(timeOfDay(at, here));
    expect(timeOfDay(at, undefined)).toMatch(/^\d\d:\d\d:\d\d$/);
  }
  expect(timeOfDay(instant(1_767_322_991_000), "Asia/Tokyo")).toBe("12:03:11");
});

import { describe, expect, it } from "vitest";
import { hours, instant, millis } from "../domain/time.ts";
import { resetIn } from "./resets.ts";

const NOW = instant(Date.parse("2026-11-18T20:30:00Z"));
const at = (words: string, zone = millis(0)) => {
  const found = resetIn(words, NOW, zone);
  return found === undefined ? undefined : new Date(found).toISOString();
};

describe("when a limit ends", () => {
  it.each([
    ["resets 9:22pm (UTC)", "2026-11-18T21:22:00.000Z"],
    ["try again at 9:20 PM.", "2026-11-18T21:20:00.000Z"],
    ["resets 3am (UTC)", "2026-11-19T03:00:00.000Z"],
    ["resets at 08:15", "2026-11-19T08:15:00.000Z"],
    ["Please try again in 1s.", "2026-11-18T20:30:01.000Z"],
    ["try again in 2h 30m", "2026-11-18T23:00:00.000Z"],
    ["Try again in 3 days and 4 hours", "2026-11-22T00:30:00.000Z"],
    ["retry after 250 ms", "2026-11-18T20:30:00.250Z"],
  ])("%s", (words, moment) => {
    expect(at(words)).toBe(moment);
  });

  it("takes a time of day without a zone for one of the local clock", () => {
    expect(at("try again at 9:20 PM.", hours(1))).toBe("2026-11-19T20:20:00.000Z");
    expect(at("resets 9:22pm (UTC)", hours(1))).toBe("2026-11-18T21:22:00.000Z");
  });

  it.each(["You've hit your limit", "resets 3 times", "try again"])("knows nothing of: %s", (words) => {
    expect(at(words)).toBeUndefined();
  });
});

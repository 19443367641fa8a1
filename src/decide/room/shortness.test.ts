import { describe, expect, test } from "vitest";
import { START } from "../../../test/rig/clock.ts";
import { later, millis, seconds } from "../../domain/time.ts";
import { ENOUGH, eased, shortened } from "./shortness.ts";

const WHY = "cannot start a process now: EAGAIN";

describe("a machine that has no room for one more task", () => {
  const short = shortened(ENOUGH, 3, START, WHY);

  test("runs as many as it does, and is left alone for a second", () => {
    expect(short).toEqual({ allowed: 3, until: later(START, seconds(1)), why: WHY, paused: seconds(1) });
  });

  test("counts tasks that were refused together once", () => {
    expect(shortened(short, 2, later(START, millis(1)), WHY)).toEqual({ ...short, allowed: 2 });
  });

  test("is left alone for longer each time it refuses again, up to a minute, and is always asked for one", () => {
    let again = short;
    const pauses = Array.from({ length: 8 }, () => {
      again = shortened(again, 0, again.until, WHY);
      return again.paused;
    });
    expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60, 60].map(seconds));
    expect(again.allowed).toBe(1);
  });

  test("is asked for one more with each task that ends, until it has room for all", () => {
    expect(eased(short, 8)).toEqual({ ...short, allowed: 4, paused: millis(0) });
    expect(eased({ ...short, allowed: 7 }, 8)).toBe(ENOUGH);
  });
});

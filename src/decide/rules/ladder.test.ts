import fc from "fast-check";
import { expect, test } from "vitest";
import { START } from "../../../test/rig/clock.ts";
import { always } from "../../../test/rig/property.ts";
import { climb, LADDER, monotonic, STARVING_AGE } from "./ladder.ts";

test("by default more are woken at 2, a worker is asked for at 4, it is told at 6, and it is parked at 10", () => {
  expect(STARVING_AGE).toBe(120_000);
  const steps = Array.from({ length: 10 }, (_, count) => climb({ count, since: START }, LADDER));
  const from = (step: "fanOut" | "spawn" | "tell" | "park") => steps.findIndex((each) => each[step]) + 1;
  expect([from("fanOut"), from("spawn"), from("tell"), from("park")]).toEqual([2, 4, 6, 10]);
  expect(climb(undefined, LADDER)).toEqual({ count: 1, fanOut: false, spawn: false, tell: false, park: false });
});

test("a worker is asked for once, and it is told once", () => {
  const steps = climb({ count: 7, since: START, spawned: true, told: true }, LADDER);
  expect(steps).toEqual({ count: 8, fanOut: true, spawn: false, tell: false, park: false });
});

test("at the end no session is woken and no worker asked for any more", () => {
  expect(climb({ count: 9, since: START }, LADDER)).toMatchObject({ fanOut: false, spawn: false, park: true });
});

test("no step comes before the one below it, whatever was asked for", async () => {
  const count = fc.integer({ min: -5, max: 30 });
  await always(
    500,
    fc.asyncProperty(fc.record({ fanOut: count, spawn: count, event: count, park: count }), async (asked) => {
      const { fanOut, spawn, event, park } = monotonic(asked);
      expect([fanOut, spawn, event, park]).toEqual([fanOut, spawn, event, park].sort((a, b) => a - b));
      expect(fanOut).toBeGreaterThanOrEqual(1);
    }),
  );
  expect(monotonic(LADDER)).toEqual(LADDER);
});

import { expect, test } from "vitest";
import { Story } from "../../test/rig/story.ts";
import { expectedEnd, forecast } from "./estimate.ts";
import { later, millis, seconds } from "./time.ts";

test("a running task ends by its estimate, and when that is past by its time-out", () => {
  const story = new Story({ a: { timeout: { hard: seconds(60) } } }).start("a").pass(1);
  const began = later(story.now, millis(-1_000));
  const estimate = { ms: seconds(10), source: "plan" } as const;
  expect(expectedEnd(story.task("a"), estimate, story.now)).toEqual({
    at: later(began, seconds(10)),
    from: "estimate",
  });
  story.pass(10);
  expect(expectedEnd(story.task("a"), estimate, story.now)).toEqual({
    at: later(began, seconds(60)),
    from: "time-out",
  });
});

test("what is left is the longest path or the work for all workers, whichever is longer", () => {
  const minute = { estimate: seconds(60) };
  const chain = new Story({ a: minute, b: { ...minute, needs: ["a"] }, c: minute });
  chain.start("a").pass(20);
  expect(forecast(chain.run, 2, chain.now)).toEqual({ remainingMs: 100_000, pathMs: 100_000, workMs: 80_000 });
  expect(forecast(chain.run, 1, chain.now)).toEqual({ remainingMs: 160_000, pathMs: 100_000, workMs: 160_000 });
  expect(forecast(new Story({ a: {} }).run, 1, chain.now)).toBeUndefined();
});

test("a back-off is waited for, and keeps no worker busy", () => {
  const story = new Story({ a: { estimate: seconds(60) } }).start("a").pass(5).retry("a", 30);
  expect(forecast(story.run, 2, story.now)).toEqual({ remainingMs: 90_000, pathMs: 90_000, workMs: 30_000 });
});

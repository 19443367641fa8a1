import { expect, test } from "vitest";
import { RunFixture } from "../../../test/rig/run-fixture.ts";
import { later, millis, seconds } from "../time.ts";
import { expectedEnd, forecast } from "./estimate.ts";

test("a running task ends by its estimate, and when that is past by its time-out", () => {
  const fixture = new RunFixture({ a: { timeout: { hard: seconds(60) } } }).start("a").pass(1);
  const began = later(fixture.now, millis(-1_000));
  const estimate = { ms: seconds(10), source: "plan" } as const;
  expect(expectedEnd(fixture.task("a"), estimate, fixture.now)).toEqual({
    at: later(began, seconds(10)),
    from: "estimate",
  });
  fixture.pass(10);
  expect(expectedEnd(fixture.task("a"), estimate, fixture.now)).toEqual({
    at: later(began, seconds(60)),
    from: "time-out",
  });
});

test("what is left is the longest path or the work for all workers, whichever is longer", () => {
  const minute = { estimate: seconds(60) };
  const chain = new RunFixture({ a: minute, b: { ...minute, needs: ["a"] }, c: minute });
  chain.start("a").pass(20);
  expect(forecast(chain.run, 2, chain.now)).toEqual({ remainingMs: 100_000, pathMs: 100_000, workMs: 80_000 });
  expect(forecast(chain.run, 1, chain.now)).toEqual({ remainingMs: 160_000, pathMs: 100_000, workMs: 160_000 });
  expect(forecast(new RunFixture({ a: {} }).run, 1, chain.now)).toBeUndefined();
});

test("a back-off is waited for, and keeps no worker busy", () => {
  const fixture = new RunFixture({ a: { estimate: seconds(60) } }).start("a").pass(5).retry("a", 30);
  expect(forecast(fixture.run, 2, fixture.now)).toEqual({ remainingMs: 90_000, pathMs: 90_000, workMs: 30_000 });
});

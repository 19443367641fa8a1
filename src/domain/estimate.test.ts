import { describe, expect, test } from "vitest";
import { Story } from "../../test/rig/story.ts";
import { expectedEnd, forecast, realizedPath } from "./estimate.ts";
import { taskOf } from "./run.ts";
import { later, millis, seconds } from "./time.ts";

describe("what a run's length hung on", () => {
  const pathOf = ({ run }: Story): readonly string[] => realizedPath(run).map(({ task }) => taskOf(run, task).spec.id);

  test("is the chain of the needs that ended last", () => {
    const story = new Story({ a: {}, b: {}, c: { needs: ["a", "b"] } });
    story.start("a").start("b", "local/2").pass(1).succeed("a").pass(1).succeed("b").start("c").pass(1).fail("c");
    expect(pathOf(story)).toEqual(["b", "c"]);
  });

  test("goes through whoever made room, when a task had to wait although its needs were met", () => {
    const story = new Story({ fetch: {}, build: { needs: ["fetch"] }, docs: { needs: ["fetch"] } });
    story
      .start("fetch")
      .pass(1)
      .succeed("fetch")
      .start("build")
      .pass(5)
      .succeed("build")
      .start("docs")
      .pass(1)
      .succeed("docs");
    expect(pathOf(story)).toEqual(["fetch", "build", "docs"]);
  });

  test("does not blame a bystander for a back-off", () => {
    const story = new Story({ a: {}, b: {} });
    story.start("a").retry("a", 5).start("b", "local/2").pass(5).succeed("b").start("a").pass(1).succeed("a");
    expect(pathOf(story)).toEqual(["a"]);
  });

  test("comes to an end even when nothing took any time", () => {
    const story = new Story({ b: { needs: ["a"] }, a: {}, c: {} });
    for (const id of ["a", "b", "c"]) story.start(id).succeed(id);
    expect(pathOf(story)).toEqual(["c"]);
  });

  test("is nothing when nothing has ended", () => {
    expect(pathOf(new Story({ a: {} }))).toEqual([]);
  });
});

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

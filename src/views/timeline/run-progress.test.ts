import { describe, expect, test } from "vitest";
import { RunFixture } from "../../../test/rig/run-fixture.ts";
import { workerId } from "../../domain/ids.ts";
import { later, seconds } from "../../domain/time.ts";
import { RunProgress } from "./run-progress.ts";

describe("what a run's length hung on", () => {
  const pathOf = ({ run, events }: RunFixture): readonly string[] =>
    RunProgress.of(run, events)
      .path()
      .map(({ task }) => task);

  test("is the chain of the needs that ended last", () => {
    const fixture = new RunFixture({ a: {}, b: {}, c: { needs: ["a", "b"] } });
    fixture.start("a").start("b", "local/2").pass(1).succeed("a").pass(1).succeed("b").start("c").pass(1).fail("c");
    expect(pathOf(fixture)).toEqual(["b", "c"]);
  });

  test("goes through the task that made room, when a task had to wait although its needs were met", () => {
    const fixture = new RunFixture({ fetch: {}, build: { needs: ["fetch"] }, docs: { needs: ["fetch"] } });
    fixture
      .start("fetch")
      .pass(1)
      .succeed("fetch")
      .start("build")
      .pass(5)
      .succeed("build")
      .start("docs")
      .pass(1)
      .succeed("docs");
    expect(pathOf(fixture)).toEqual(["fetch", "build", "docs"]);
  });

  test("does not blame a bystander for a back-off", () => {
    const fixture = new RunFixture({ a: {}, b: {} });
    fixture.start("a").retry("a", 5).start("b", "local/2").pass(5).succeed("b").start("a").pass(1).succeed("a");
    expect(pathOf(fixture)).toEqual(["a"]);
  });

  test("comes to an end even when nothing took any time", () => {
    const fixture = new RunFixture({ b: { needs: ["a"] }, a: {}, c: {} });
    for (const id of ["a", "b", "c"]) fixture.start(id).succeed(id);
    expect(pathOf(fixture)).toEqual(["a", "b", "c"]);
  });

  test("is nothing when nothing has ended", () => {
    expect(pathOf(new RunFixture({ a: {} }))).toEqual([]);
  });

  test("is found among tasks that take no longer than starting them", () => {
    const ids = Array.from({ length: 9 }, (_, at) => `t${at}`);
    const fixture = new RunFixture(Object.fromEntries(ids.map((id) => [id, {}])));
    for (const id of ids) fixture.start(id).pass(0.005).succeed(id);
    expect(pathOf(fixture)).toEqual(ids);
  });

  test("goes through the task that had the worker, when two end at once", () => {
    const fixture = new RunFixture({ a: {}, b: {}, c: {}, d: {} });
    fixture.start("a", "local/1").start("b", "local/2").pass(1).succeed("a").succeed("b");
    fixture.start("c", "local/2").start("d", "local/1").pass(1).succeed("c").pass(1).succeed("d");
    expect(pathOf(fixture)).toEqual(["a", "d"]);
  });

  test("goes back no further than to when the run was resumed", () => {
    const fixture = new RunFixture({ a: {}, b: { needs: ["a"] }, c: { needs: ["b"] } });
    fixture.start("a").pass(60).succeed("a").start("b").pass(30);
    const since = later(fixture.now, seconds(-10));
    fixture.succeed("b").start("c").pass(5).succeed("c");
    expect(RunProgress.of(fixture.run, fixture.events, since).path()).toEqual([
      { task: "b", durationMs: 10_000 },
      { task: "c", durationMs: 5_000 },
    ]);
  });
});

describe("the work of a run", () => {
  test("is that of every attempt, also of those that failed or were lost", () => {
    const fixture = new RunFixture({ a: {}, b: {} }).start("a").pass(10).retry("a", 0).start("a").pass(5).succeed("a");
    fixture
      .start("b")
      .pass(3)
      .of("b", { kind: "expired", worker: workerId("local/1"), notBefore: fixture.now });
    fixture.start("b").pass(2).succeed("b");
    expect(RunProgress.of(fixture.run, fixture.events).workMs).toBe(20_000);
  });

  test("is that since a moment, of which more cannot have been done than there was time", () => {
    const fixture = new RunFixture({ a: {}, b: {} }).start("a").pass(60).succeed("a").start("b").pass(30);
    const since = later(fixture.now, seconds(-10));
    fixture.succeed("b");
    expect(RunProgress.of(fixture.run, fixture.events, since).workMs).toBe(10_000);
    // A command that took the run up saw only the end of an attempt from before.
    expect(RunProgress.of(fixture.run, fixture.events.slice(-1), since).workMs).toBe(10_000);
  });
});

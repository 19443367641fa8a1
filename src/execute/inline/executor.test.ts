import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freshDir } from "../../../test/rig/cli.ts";
import { ManualClock } from "../../../test/rig/clock.ts";
import { runId, taskId } from "../../domain/ids.ts";
import type { Outcome } from "../../domain/outcome.ts";
import { millis, seconds } from "../../domain/time.ts";
import { place, told } from "../conformance.ts";
import type { Attempt } from "../executor.ts";
import { SAYING_MAX } from "../sayings.ts";
import { type Handler, openInlineExecutor } from "./executor.ts";

const ATTEMPT: Attempt = {
  run: runId("run"),
  task: taskId("task"),
  fence: 1,
  work: { shell: "true" },
  where: place("/"),
  env: {},
  priority: "normal",
  log: "",
};
const success = { kind: "success", durationMs: millis(1) } as const;
const quiet = { started: () => {}, progressed: () => {}, said: () => {} };
const start = (handler: Handler, watch = quiet) => openInlineExecutor(handler).start(ATTEMPT, watch);

test("a function's outcome is the attempt's, whether it comes at once or later", async () => {
  expect(await start(() => success).outcome).toEqual(success);
  expect(await start(async () => success).outcome).toEqual(success);
});

test("what a function throws is a failure that says so", async () => {
  const thrown = (): never => {
    throw new Error("no such model");
  };
  expect(await start(thrown).outcome).toMatchObject({ kind: "refused", message: "no such model" });
  expect(await start(async () => thrown()).outcome).toMatchObject({ kind: "refused", message: "no such model" });
});

test("a function hears that it should stop, and what it says afterwards does not count", async () => {
  const heard: string[] = [];
  const handle = start(async (_, { stopped }) => {
    heard.push((await stopped).kind);
    return success;
  });
  handle.stop({ kind: "timeout", limit: "soft" }, millis(0));
  handle.stop({ kind: "shutdown" }, millis(0));
  expect(await handle.outcome).toMatchObject({ kind: "timeout", limit: "soft" });
  expect(heard).toEqual(["timeout"]);
});

describe("a function that is asked to end", () => {
  const REASON = { kind: "cancelled", asked: { by: "mo" } } as const;
  /** A function that ends when the test says so. */
  function running() {
    const clock = new ManualClock();
    const work = Promise.withResolvers<Outcome>();
    const executor = openInlineExecutor(() => work.promise, { clock, grace: seconds(2) });
    const handle = executor.start(ATTEMPT, quiet);
    const ended: Outcome[] = [];
    void handle.outcome.then((outcome) => ended.push(outcome));
    return { clock, work, executor, handle, ended };
  }

  test("has its grace, and its attempt has ended for the reason when it does", async () => {
    const { clock, work, handle, ended } = running();
    handle.stop(REASON, seconds(5));
    await clock.advance(4_999);
    expect(ended).toEqual([]);
    work.resolve(success);
    await clock.settle();
    expect(ended).toEqual([{ kind: "cancelled", durationMs: 4_999 }]);
    expect(clock.waiting).toEqual([]);
  });

  test("is left alone when its grace is over, which can be made shorter and not longer", async () => {
    const { clock, handle, ended } = running();
    handle.stop(REASON, seconds(5));
    handle.stop({ kind: "shutdown" }, seconds(600));
    handle.stop({ kind: "shutdown" }, seconds(3));
    await clock.advance(3_000);
    expect(ended).toEqual([{ kind: "cancelled", durationMs: 3_000 }]);
  });

  test("ends for the hard limit where it outlives the soft one", async () => {
    const { clock, handle, ended } = running();
    handle.stop({ kind: "timeout", limit: "soft" }, seconds(5));
    handle.stop({ kind: "timeout", limit: "hard" }, millis(0));
    await clock.settle();
    expect(ended).toMatchObject([{ kind: "timeout", limit: "hard" }]);
  });

  test("is asked to when the executor is disposed of, which waits for it; nothing is begun afterwards", async () => {
    const { clock, executor, handle, ended } = running();
    const disposed = executor[Symbol.asyncDispose]();
    await clock.settle();
    expect(ended).toEqual([]);
    await clock.advance(2_000);
    await disposed;
    expect(await handle.outcome).toMatchObject({ kind: "shutdown" });
    expect(await executor.start({ ...ATTEMPT, fence: 2 }, quiet).outcome).toMatchObject({ kind: "shutdown" });
  });
});

test("a function can say that it has started and that it is alive", async () => {
  const said: string[] = [];
  const watch = { ...quiet, started: () => said.push("started"), progressed: () => said.push("progressed") };
  await start((_, control) => {
    control.started(undefined);
    control.progressed();
    return success;
  }, watch).outcome;
  expect(said).toEqual(["started", "progressed"]);
});

test("what a function says is passed on, cut to what one saying may be, and all of it is kept in its log", async () => {
  const log = join(freshDir(), "logs", "task.log");
  const watch = told();
  const handler: Handler = (_, control) => {
    for (const text of ["  half of it\n", "", "x".repeat(SAYING_MAX + 5)]) control.said({ kind: "said", text });
    return success;
  };
  await openInlineExecutor(handler).start({ ...ATTEMPT, log }, watch).outcome;
  const long = `${"x".repeat(SAYING_MAX - 1)}…`;
  expect(watch.sayings).toEqual(["half of it", long]);
  expect(readFileSync(log, "utf8")).toBe(`half of it\n${long}\n`);
});

test("of a function that never stops talking a bounded part is kept, and the log says so", async () => {
  const log = join(freshDir(), "task.log");
  const handler: Handler = (_, control) => {
    for (let said = 0; said < 3_000; said++) control.said({ kind: "said", text: "x".repeat(SAYING_MAX) });
    return success;
  };
  await openInlineExecutor(handler).start({ ...ATTEMPT, log }, quiet).outcome;
  const kept = readFileSync(log, "utf8");
  expect(Buffer.byteLength(kept)).toBeLessThan(1024 * 1024 + 100);
  expect(kept).toMatch(/x\n… and more, which was not kept\n$/);
});

test("nothing of it outlives its process, so there is nothing to take over", async () => {
  await using executor = openInlineExecutor(() => success);
  expect(await executor.adopt(ATTEMPT, undefined, quiet)).toBeUndefined();
  expect(await executor.sweep()).toBe(0);
});

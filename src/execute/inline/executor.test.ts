import { expect, test } from "vitest";
import { runId, taskId } from "../../domain/ids.ts";
import { millis } from "../../domain/time.ts";
import type { Attempt } from "../executor.ts";
import { type Handler, openInlineExecutor } from "./executor.ts";

const ATTEMPT: Attempt = {
  run: runId("run"),
  task: taskId("task"),
  fence: 1,
  work: { shell: "true" },
  cwd: "/",
  env: {},
  priority: "normal",
  log: "",
};
const success = { kind: "success", durationMs: millis(1) } as const;
const quiet = { started: () => {}, progressed: () => {} };
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

test("a function can say that it has started and that it is alive", async () => {
  const said: string[] = [];
  const watch = { started: () => said.push("started"), progressed: () => said.push("progressed") };
  await start((_, control) => {
    control.started(undefined);
    control.progressed();
    return success;
  }, watch).outcome;
  expect(said).toEqual(["started", "progressed"]);
});

test("nothing of it outlives its process, so there is nothing to take over", async () => {
  await using executor = openInlineExecutor(() => success);
  expect(await executor.adopt(ATTEMPT, undefined, quiet)).toBeUndefined();
  expect(await executor.sweep()).toBe(0);
});

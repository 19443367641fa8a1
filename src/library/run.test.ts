import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, expectTypeOf, test, vi } from "vitest";
import { freshDir } from "../../test/rig/cli.ts";
import { refusal } from "../../test/rig/sessions.ts";
import { type EventReply, run, type TaskContext, TaskFailure, type TaskResult } from "../index.ts";
import type { taskShape } from "../plan/shape.ts";
import type { PlanDefaults, PlanTask } from "./plan.ts";

describe("a plan within a program", () => {
  test("has functions and commands for tasks; what functions give back is there for those that need them", async () => {
    const directory = freshDir();
    const result = await run(
      {
        name: "pages",
        tasks: {
          list: { run: () => ({ summary: "2 pages", result: ["a", "b"] }) },
          write: { run: "echo made > made.txt", needs: ["list"] },
          count: {
            run: async ({ needs, directory: here }) => {
              const pages = needs["list"]?.result as readonly string[];
              return { result: { pages: pages.length, made: readFileSync(join(here, "made.txt"), "utf8") } };
            },
            needs: ["list", "write"],
          },
        },
      },
      { directory, workers: 2 },
    );
    expect(result).toMatchObject({ outcome: "succeeded", attempts: 3, counts: { total: 3, succeeded: 3 } });
    expect(result.tasks.list).toEqual({
      task: "list",
      state: "succeeded",
      attempts: 1,
      summary: "2 pages",
      result: ["a", "b"],
    });
    expect(result.tasks.count.result).toEqual({ pages: 2, made: "made\n" });
    expect(result.tasks.write).toEqual({ task: "write", state: "succeeded", attempts: 1 });
    expectTypeOf(result.tasks.list).toEqualTypeOf<TaskResult<string[]>>();
    expectTypeOf(result.tasks.count.result).toEqualTypeOf<{ pages: number; made: string } | undefined>();
    expectTypeOf(result.tasks.write.result).toEqualTypeOf<unknown>();
  });

  test("can be a file whose tasks call functions by name", async () => {
    const directory = freshDir();
    writeFileSync(
      join(directory, "plan.yaml"),
      `tasks:
  hello: { call: greet, labels: { whom: Ada }, env: { HOME: { from: PLACE }, MORE: more } }
`,
    );
    const seen: TaskContext[] = [];
    const result = await run("plan.yaml", {
      directory,
      environment: { PLACE: "/home/ada" },
      functions: {
        greet: (task) => {
          seen.push(task);
          return `hello ${task.labels["whom"]}`;
        },
      },
    });
    expect(result.tasks["hello"]?.summary).toBe("hello Ada");
    expect(seen).toMatchObject([
      {
        run: result.run,
        task: "hello",
        attempt: 1,
        fence: 1,
        env: { HOME: "/home/ada", MORE: "more" },
        directory,
        needs: {},
      },
    ]);
    expect(await refusal(run("plan.yaml", { directory }))).toBe("PLAN_INVALID");
    await expect(run("plan.yaml", { directory })).rejects.toThrow(
      'hello calls the function "greet", which is not here',
    );
  });

  test("tries a function again as its retry says, which what it throws can be held against", async () => {
    const tries: number[] = [];
    const plan = (on: readonly number[]) => ({
      tasks: {
        flaky: {
          run: ({ attempt }: TaskContext) => {
            tries.push(attempt);
            if (attempt < 3) throw new TaskFailure("not yet", { code: 75 });
            return "at last";
          },
          retry: { attempts: 3, backoff: "0s", on },
        },
      },
    });
    expect((await run(plan([75]))).tasks.flaky).toMatchObject({ state: "succeeded", attempts: 3, summary: "at last" });
    expect(tries).toEqual([1, 2, 3]);
    const failed = await run(plan([1]));
    expect(failed).toMatchObject({ outcome: "failed", counts: { failed: 1 } });
    expect(failed.tasks.flaky.failure).toEqual({ kind: "exit", message: "exit code 75: not yet" });
  });

  test("says how a function failed, and what a command printed last", async () => {
    const { outcome, tasks } = await run({
      tasks: {
        thrown: {
          run: () => {
            throw new Error("no such page");
          },
        },
        quota: {
          run: () => {
            throw new TaskFailure("no credit", { kind: "refused" });
          },
        },
        large: { run: () => ({ result: "x".repeat(70_000) }) },
        command: { run: "echo one; echo two; exit 3" },
        after: { run: () => "never", needs: ["thrown"] },
      },
    });
    expect(outcome).toBe("failed");
    expect(tasks.thrown).toMatchObject({ failure: { kind: "exit", message: "exit code 1: no such page" } });
    expect(tasks.quota).toMatchObject({ failure: { kind: "refused", message: "refused: no credit" } });
    expect(tasks.large.failure?.message).toContain("its result is longer than 65536 characters");
    expect(tasks.command).toMatchObject({ failure: { kind: "exit" }, tail: ["one", "two"] });
    expect(tasks.thrown).not.toHaveProperty("tail");
    expect(tasks.after.state).toBe("skipped");
  });

  test("stops a function through its signal when its time is over, and verifies what it did", async () => {
    const { tasks } = await run({
      tasks: {
        slow: {
          run: ({ signal }) =>
            new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped")))),
          timeout: "50ms",
        },
        checked: { run: () => ({ result: 1 }), verify: "true" },
        wrong: { run: () => "done", verify: "exit 4" },
      },
    });
    expect(tasks.slow.failure).toMatchObject({ kind: "timeout" });
    expect(tasks.checked).toMatchObject({ state: "succeeded", result: 1 });
    expect(tasks.wrong.failure).toMatchObject({ kind: "verify" });
  });

  test("is told in events, durable and in order; what that throws ends the run", async () => {
    const told: EventReply[] = [];
    const plan = { tasks: { a: { run: ({ progress }: TaskContext) => progress("half of it") } } };
    await run(plan, { onEvent: (event) => told.push(event) });
    expect(told.map(({ kind }) => kind)).toEqual([
      "run_submitted",
      "claimed",
      "started",
      "noted",
      "succeeded",
      "run_finished",
    ]);
    const refuse = (): never => {
      throw new Error("the disk of the program is full");
    };
    await expect(run(plan, { onEvent: refuse })).rejects.toThrow("the disk of the program is full");
  });

  test("leaves nothing behind without a state directory", async () => {
    const place = freshDir();
    vi.stubEnv("TMPDIR", place);
    const look = () => ({ result: readdirSync(place) });
    const { tasks } = await run({ tasks: { a: { run: "true" }, b: { run: look, needs: ["a"] } } });
    vi.unstubAllEnvs();
    expect(tasks.b.result).toHaveLength(1);
    expect(readdirSync(place)).toEqual([]);
  });

  test("is refused where it cannot be run: a fault of the plan, of a setting, a pool whose sessions cannot come", async () => {
    expect(await refusal(run({ tasks: { a: { run: "true", needs: ["b"] } } }))).toBe("PLAN_INVALID");
    expect(await refusal(run({ tasks: { a: { run: "true" } } }, { settings: { grace: "soon" } }))).toBe(
      "CONFIG_INVALID",
    );
    const heartbeat = { heartbeat: "40s", leaseTtl: "60s" };
    expect(await refusal(run({ tasks: { a: { run: "true" } } }, { settings: heartbeat }))).toBe("CONFIG_INVALID");
    expect(await refusal(run({ tasks: { a: { prompt: "Do it.", pool: "agents" } } }))).toBe("USAGE");
  });
});

describe("with a state directory", () => {
  test("a run that was interrupted goes on where it was, with what functions had given back", async () => {
    const state = join(freshDir(), "state");
    const stop = new AbortController();
    const calls: string[] = [];
    const plan = {
      name: "long",
      tasks: {
        first: {
          run: () => {
            calls.push("first");
            return { result: { from: "the first process" } };
          },
        },
        second: {
          run: async ({ needs, signal }: TaskContext) => {
            calls.push("second");
            if (calls.length > 2) return { result: needs["first"]?.result };
            stop.abort();
            await new Promise((resolve) => signal.addEventListener("abort", resolve));
            return "too late";
          },
          needs: ["first"],
        },
      },
    };
    const interrupted = await run(plan, { state, signal: stop.signal });
    expect(interrupted).toMatchObject({ outcome: "interrupted", counts: { succeeded: 1 } });
    const resumed = await run(plan, { state, resume: true });
    expect(calls).toEqual(["first", "second", "second"]);
    expect(resumed).toMatchObject({ run: interrupted.run, outcome: "succeeded" });
    expect(resumed.tasks.second.result).toEqual({ from: "the first process" });
    // It had ended: nothing is done again, and the result is the same.
    const known = await run(plan, { state, resume: true });
    expect(calls).toHaveLength(3);
    expect(known.tasks).toEqual(resumed.tasks);
    expect(existsSync(join(state, "rota.db"))).toBe(true);
  });

  test("tasks with the same idempotency key are done once, and take the result", async () => {
    const state = join(freshDir(), "state");
    let calls = 0;
    const plan = { tasks: { once: { run: () => ({ result: ++calls }), idempotencyKey: "only" } } };
    expect((await run(plan, { state })).tasks.once.result).toBe(1);
    expect((await run(plan, { state })).tasks.once).toMatchObject({ attempts: 0, result: 1 });
    expect(calls).toBe(1);
  });

  test("nothing is begun for a signal that was aborted before", async () => {
    const state = join(freshDir(), "state");
    const aborted = AbortSignal.abort(new Error("too late"));
    await expect(run({ tasks: { a: { run: "true" } } }, { state, signal: aborted })).rejects.toThrow("too late");
    expect(existsSync(state)).toBe(false);
  });
});

test("the type of a plan has the fields of a plan, and no others", () => {
  type Refused = "agent" | "cache" | "artifacts" | "budget" | "shards";
  expectTypeOf<keyof PlanTask>().toEqualTypeOf<Exclude<keyof typeof taskShape.fields, Refused>>();
  expectTypeOf<keyof PlanTask>().toExtend<
    keyof PlanDefaults | "run" | "prompt" | "call" | "idempotencyKey" | "needs" | "after" | "matrix"
  >();
});

import { expect, expectTypeOf, test } from "vitest";
import { freshDir } from "../../test/rig/cli.ts";
import { run, TaskFailure, type TaskResult } from "../index.ts";

/** Never called: that it compiles is the test. */
async function mistakes() {
  // @ts-expect-error what a function gives back is text, or a summary and a result
  await run({ tasks: { a: { run: () => 5 } } });
  // @ts-expect-error there is no such field
  await run({ tasks: { a: { run: "true", rnu: "make" } } });
  // @ts-expect-error there is no such field
  await run({ tasks: { a: { run: "true" } }, resource: {} });
  // @ts-expect-error there is no such priority
  await run({ tasks: { a: { run: "true", priority: "urgent" } } });
  // @ts-expect-error there is no such option
  await run("plan.yaml", { worker: 3 });
  // @ts-expect-error durations are text
  await run("plan.yaml", { settings: { grace: 5 } });
  const { tasks } = await run({ tasks: { a: { run: () => ({ result: 1 }) }, b: { run: "true", needs: ["a"] } } });
  // @ts-expect-error it is a number
  tasks.a.result satisfies string | undefined;
  // @ts-expect-error there is no such kind
  throw new TaskFailure("no", { kind: "weather" });
}

test("mistakes in a plan, an option or a result do not compile, and are refused where they are made all the same", async () => {
  expect(mistakes).toBeTypeOf("function");
  const wrong = { tasks: { a: { run: "true", rnu: "make" } } } as { tasks: { a: { run: string } } };
  await expect(run(wrong, { directory: freshDir() })).rejects.toThrow('"rnu" is not a field of a task');
});

test("tasks of a matrix have ids that are made, and no type of their own", async () => {
  const { tasks } = await run({
    tasks: { build: { run: () => ({ result: true }), matrix: { os: ["linux", "darwin"] } } },
  });
  expectTypeOf(tasks["build"]).toEqualTypeOf<TaskResult | undefined>();
  expect(tasks["build-linux"]?.result).toBe(true);
});

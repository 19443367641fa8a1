import { describe, expect, test } from "vitest";
import { systemClock } from "../effects/clock.ts";
import { executorConformance, shell, told } from "./conformance.ts";
import type { Executor } from "./executor.ts";
import { openOnDemand } from "./on-demand.ts";
import { openProcessExecutor } from "./process/executor.ts";

const processes = (stateDir: string): Executor => openProcessExecutor({ stateDir, clock: systemClock() });

describe("an executor on demand", () => {
  executorConformance((dir) => {
    const inner = openOnDemand(() => processes(dir));
    // What an earlier scheduler left is for an executor that is opened at once.
    return {
      start: (attempt, watch) => inner.start(attempt, watch),
      adopt: (attempt, process, watch) => inner.adopt(attempt, process, watch),
      sweep: () => inner.sweep(),
      [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
    };
  });
});

test("is not opened before it is needed", async () => {
  const refuse = (): Executor => {
    throw new Error("it was opened");
  };
  const executor = openOnDemand(refuse);
  expect(await executor.sweep()).toBe(0);
  expect(await executor.adopt(shell("/", "true"), undefined, told())).toBeUndefined();
  executor.leave?.();
  await executor[Symbol.asyncDispose]();
  expect(() => executor.start(shell("/", "true"), told())).toThrow("it was opened");
});

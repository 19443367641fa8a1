/** The executors there are, by kind, as one: the worker of a claim and the work itself decide which of them does it. */
import { invariant } from "../std/invariant.ts";
import type { Attempt, Executor } from "./executor.ts";

/** `kindOf`: which kind does the attempt's work. Disposing of the registry disposes of all executors in it. */
export function openRegistry(
  executors: Readonly<Record<string, Executor>>,
  kindOf: (attempt: Attempt) => string | undefined,
): Executor {
  const all = Object.values(executors);
  const find = (attempt: Attempt): Executor | undefined => executors[kindOf(attempt) ?? ""];
  return {
    start(attempt, watch) {
      const executor = find(attempt);
      invariant(executor !== undefined, `there is an executor for what ${attempt.where.worker} claims`);
      return executor.start(attempt, watch);
    },
    // Nothing can be found again of work that no executor here does.
    adopt: async (attempt, process, watch) => find(attempt)?.adopt(attempt, process, watch),
    async sweep() {
      const swept = await Promise.all(all.map((executor) => executor.sweep()));
      return swept.reduce((sum, count) => sum + count, 0);
    },
    leave() {
      for (const executor of all) executor.leave?.();
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(all.map((executor) => executor[Symbol.asyncDispose]()));
    },
  };
}

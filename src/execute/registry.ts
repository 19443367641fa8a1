/** The executors there are, by kind, as one: the worker of a claim decides which of them does its work. */
import type { WorkerId } from "../domain/ids.ts";
import { invariant } from "../std/invariant.ts";
import type { Attempt, Executor } from "./executor.ts";

/** `kindOf`: of which kind a worker is. Disposing of the registry disposes of all executors in it. */
export function openRegistry(
  executors: Readonly<Record<string, Executor>>,
  kindOf: (worker: WorkerId) => string | undefined,
): Executor {
  const all = Object.values(executors);
  const find = ({ where }: Attempt): Executor | undefined => executors[kindOf(where.worker) ?? ""];
  return {
    start(attempt, watch) {
      const executor = find(attempt);
      invariant(executor !== undefined, `there is an executor for what ${attempt.where.worker} claims`);
      return executor.start(attempt, watch);
    },
    // Of a worker whose kind nobody here knows nothing can be found again.
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

/** An executor that is opened with its first attempt: where nothing was run before, there is nothing to adopt or to sweep until then. */
import type { Executor } from "./executor.ts";

export function openOnDemand(open: () => Executor): Executor {
  let opened: Executor | undefined;
  let isDisposed = false;
  return {
    start(attempt, watch) {
      const executor = opened ?? open();
      opened = executor;
      // An executor that is opened too late ends the attempt as a disposed one would.
      if (isDisposed) void executor[Symbol.asyncDispose]();
      return executor.start(attempt, watch);
    },
    adopt: async (attempt, process, watch) => opened?.adopt(attempt, process, watch),
    sweep: async () => opened?.sweep() ?? 0,
    leave: () => opened?.leave?.(),
    async [Symbol.asyncDispose]() {
      isDisposed = true;
      await opened?.[Symbol.asyncDispose]();
    },
  };
}

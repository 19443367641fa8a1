/** How long tasks are likely to take, as explanations say it: the plan, earlier runs, this run, and what is known of the others. */
import { estimatesOf } from "../../domain/durations/estimate.ts";
import type { Run } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import { millis } from "../../domain/time.ts";
import type { Estimate } from "../../domain/waiting/explanation.ts";
import type { Dispatcher } from "../dispatcher.ts";
import { ESTIMATE_SOURCES } from "../order/estimates.ts";

/** Looks over the run once, and then answers for each of its tasks. Nothing when no task has an estimate and none has ended. */
export function expectations(dispatcher: Dispatcher, run: Run): (task: Task) => Estimate | undefined {
  const estimates = dispatcher.runs.estimates(run);
  const observed = estimatesOf(run);
  return (task) => {
    const now = observed(task);
    if (estimates === undefined || now?.source === "plan") return now;
    const source = ESTIMATE_SOURCES[estimates.sources[task.no] as number];
    const ms = millis(Math.round(estimates.costs[task.no] as number));
    if (source === "history") return { ms, source };
    if (now !== undefined) return now;
    return source === "typical" ? { ms, source } : undefined;
  };
}

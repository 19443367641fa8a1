/** A task as people see it: its id, which commands take, and its title where the plan gives one. */
import type { Task } from "../../domain/task.ts";
import { type Line, quiet } from "../text/line.ts";

export interface Titled {
  readonly title?: string;
}

export const named = (task: string, title: string | undefined): Line =>
  title === undefined ? [task] : [task, quiet(`  ${title}`)];

/** What a model keeps of a title. */
export const titleOf = ({ title }: { readonly title?: string | undefined }): Titled =>
  title === undefined ? {} : { title };

/** Whether an attempt before the current one failed or lost its lease. An attempt that was taken back before it began, or given back, does not count. */
export const isRetry = ({ status, failures, expiries }: Task): boolean =>
  failures + expiries > (status.state === "failed" ? 1 : 0);

/** `attempt 2`, where there was one before. */
export const attemptWords = ({ attempt, again }: { readonly attempt: number; readonly again: boolean }): string =>
  again && attempt > 1 ? `attempt ${attempt}` : "";

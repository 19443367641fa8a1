/** `rota cancel [TASK]`: stops a task, or all tasks of a run, for good. */
import { asking } from "./asking.ts";

export const run = asking("cancel");

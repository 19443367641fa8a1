/** A question to a person, with what each answer does. */
import type { Task } from "../../domain/task.ts";
import { type Line, quiet, strong, toned } from "../text/line.ts";

/** A closed gate, as a question at a terminal. */
export const gateQuestion = ({ spec }: Pick<Task, "spec">): readonly Line[] => [
  [toned("warn", "?"), " ", strong(spec.id), "  needs approval: ", spec.gate ?? ""],
  [quiet("  y opens its gate · n cancels the task · Ctrl-C leaves it for later")],
];

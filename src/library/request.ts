/** A plan of this program as any caller submits it to a scheduler: as text, with functions by name alone. */
import { basename, dirname, join, resolve } from "node:path";
import { planText } from "../app/runs/plan-file.ts";
import { UserError } from "../domain/errors.ts";
import type { SubmitRequest } from "../wire/messages.ts";
import type { PlanSource } from "./plan.ts";

/** `directory`: where a plan file is looked for, and where the tasks of a plan object are done. */
export async function requestOf(plan: PlanSource, directory: string): Promise<SubmitRequest> {
  if (typeof plan === "string") {
    const file = resolve(directory, plan);
    return { text: await planText(file), file, directory: dirname(file) };
  }
  const inline = Object.entries(plan.tasks).find(([, { run }]) => typeof run === "function");
  if (inline !== undefined) throw inPlan(inline[0]);
  const place = resolve(directory);
  const file = join(place, `${basename(plan.name ?? "plan")}.json`);
  return { text: JSON.stringify(plan, undefined, 2), file, directory: place };
}

const inPlan = (task: string): UserError =>
  new UserError("USAGE", `Task ${task} has a function in the plan, and a scheduler must have its functions before`, {
    hint: `Give it to \`openScheduler({ functions: { ${task} } })\`, and name it in the plan: \`call: "${task}"\`.`,
  });

/** What a person may change about a task that waits: by the same rules as in a plan. */
import { UserError } from "../domain/errors.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { Problems } from "../std/problems.ts";
import { object } from "../std/schema-maps.ts";
import { taskShape } from "./shape.ts";

/** Fields that would change the graph, or the pool of the task, are not among them. */
export const EDITABLE = [
  "run",
  "prompt",
  "title",
  "priority",
  "requires",
  "resources",
  "env",
  "retry",
  "timeout",
  "progress",
  "estimate",
  "labels",
  "workspace",
  "channel",
  "session",
] as const;
const { fields } = taskShape;
const editShape = object(
  Object.fromEntries(EDITABLE.map((name) => [name, fields[name]])) as Pick<typeof fields, (typeof EDITABLE)[number]>,
  { name: "what can be changed" },
);

/** The named fields with their new values; or a `UserError` with everything that is wrong. */
export function readEdit(text: string, spec: TaskSpec): Partial<TaskSpec> {
  const problems = new Problems("the changes");
  const read = editShape.read(parsed(text), problems);
  if (read === undefined) {
    const said = problems.list.map(({ message, hint }) => (hint === undefined ? message : `${message} ${hint}`));
    throw new UserError("CANNOT_EDIT", said.join(" "), { hint: `What can be changed: ${EDITABLE.join(", ")}.` });
  }
  const { prompt, ...named } = read;
  if ("call" in spec.run && (prompt !== undefined || named.run !== undefined || named.requires !== undefined)) {
    throw new UserError(
      "CANNOT_EDIT",
      `Task ${spec.id} calls a function: what it does and requires stays as the program says`,
    );
  }
  if (prompt !== undefined && !("prompt" in spec.run && named.run === undefined)) {
    throw new UserError("CANNOT_EDIT", `Task ${spec.id} runs a command, and has no prompt`);
  }
  return {
    ...named,
    ...(prompt !== undefined && { run: { prompt } }),
    ...(read.retry !== undefined && { retry: { ...spec.retry, ...read.retry } }),
    ...(read.timeout !== undefined && { timeout: { ...spec.timeout, ...read.timeout } }),
  } as Partial<TaskSpec>;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UserError("CANNOT_EDIT", `The changes are not JSON: ${(error as Error).message}`);
  }
}

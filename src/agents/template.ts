/** What other tasks gave back, in the words of a prompt: `${tasks.build.summary}`, `${tasks.build.result.files}`. Strict: no name is guessed. */
import type { TaskId } from "../domain/ids.ts";
import { taskId } from "../domain/ids.ts";

export interface TaskVariable {
  readonly task: TaskId;
  readonly what: "summary" | "result";
  /** The way into the result. */
  readonly path: readonly string[];
}

/** A place in a template: its words, and where they begin. */
export interface Place {
  readonly words: string;
  readonly at: number;
  readonly variable: TaskVariable | undefined;
}

/** `$${` is a plain `${`. */
const PLACE = /\$(\$\{)|\$\{([^}]*)\}/g;
/** A task's name may have dots: what it is asked for comes last. */
const VARIABLE = /^tasks\.(.+?)\.(?:(summary)|(result)((?:\.[A-Za-z_][\w-]*)*))$/;

/** Every place that is to be filled in. One without a variable is a mistake of the plan. */
export function placesIn(template: string): readonly Place[] {
  return [...template.matchAll(PLACE)]
    .filter(([, literal]) => literal === undefined)
    .map((match) => ({ words: match[0], at: match.index, variable: variableOf(match[2] ?? "") }));
}

function variableOf(words: string): TaskVariable | undefined {
  const match = VARIABLE.exec(words.trim());
  if (match === null) return undefined;
  const [, task = "", summary, , path = ""] = match;
  return {
    task: taskId(task),
    what: summary === undefined ? "result" : "summary",
    path: path === "" ? [] : path.slice(1).split("."),
  };
}

/** The template with its places filled in. What `value` does not know stays as it is written, and is named in `unknown`. */
export function filled(
  template: string,
  value: (variable: TaskVariable) => string | undefined,
): { readonly text: string; readonly unknown: readonly string[] } {
  const unknown: string[] = [];
  const text = template.replace(PLACE, (words: string, literal: string | undefined, name: string | undefined) => {
    if (literal !== undefined) return literal;
    const variable = variableOf(name ?? "");
    const found = variable === undefined ? undefined : value(variable);
    if (found === undefined) unknown.push(words);
    return found ?? words;
  });
  return { text, unknown };
}

/** The value at this path of a result: a text as it is, any other value as JSON. */
export function resultAt(result: unknown, path: readonly string[]): string | undefined {
  let at: unknown = result;
  for (const name of path) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, name)) return undefined;
    at = (at as Readonly<Record<string, unknown>>)[name];
  }
  return typeof at === "string" ? at : at === undefined ? undefined : JSON.stringify(at);
}

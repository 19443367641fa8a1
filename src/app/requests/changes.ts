/** The changes to a task as a person types them: `priority=high`, `retry.attempts=3`, or all of them as JSON. */
import { parse } from "yaml";
import { UserError } from "../../domain/errors.ts";

type Changes = Record<string, unknown>;

/** A JSON object. The daemon checks its fields. */
export function readChanges(text: string): Changes {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new UserError("USAGE", `--json-changes is not JSON: ${(error as Error).message}`, { hint: EXAMPLE });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new UserError("USAGE", "--json-changes must be a JSON object", { hint: EXAMPLE });
  }
  return value as Changes;
}

/** Each `name=value` or `name.part=value`, with values as they would stand in a plan. */
export function readSettings(settings: readonly string[]): Changes {
  const changes: Changes = Object.create(null) as Changes;
  for (const setting of settings) {
    const at = setting.indexOf("=");
    const [name, part, ...deeper] = setting.slice(0, Math.max(0, at)).split(".");
    if (at < 1 || name === undefined || !isWord(name) || deeper.length > 0 || (part !== undefined && !isWord(part))) {
      throw new UserError("USAGE", `"${setting}" is not of the form NAME=VALUE`, { hint: EXAMPLE });
    }
    const value = readValue(setting.slice(at + 1));
    changes[name] = part === undefined ? value : { ...partsOf(changes[name]), [part]: value };
  }
  return { ...changes };
}

const EXAMPLE = "Such as: --set priority=high, --set retry.attempts=3 or --set 'requires=[typescript]'.";
const isWord = (text: string): boolean => /^[A-Za-z_]\w*$/.test(text) && text !== "__proto__";
const partsOf = (value: unknown): object => (typeof value === "object" && value !== null ? value : {});

/** Lists and maps are read as in a plan, and numbers as numbers; any other text stays text. */
function readValue(text: string): unknown {
  if (/^\s*[[{"]/.test(text) || /^-?\d+(?:\.\d+)?$/.test(text)) {
    try {
      return parse(text);
    } catch (error) {
      throw new UserError("USAGE", `"${text}" cannot be read: ${(error as Error).message}`, { hint: EXAMPLE });
    }
  }
  return text;
}

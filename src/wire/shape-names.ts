/** The names of the shapes in documents: each shape stands there once, and is referred to by its name. */
import { isMap, type JsonSchema, Schema } from "../std/schema.ts";
import * as answers from "./answers.ts";
import * as messages from "./messages.ts";
import { OUTPUTS } from "./replies/output.ts";

export type AnySchema = Schema<unknown>;

/** `GRANT` becomes `Grant`, and the request `CLAIM` becomes `ClaimRequest`. */
export const NAMES: ReadonlyMap<AnySchema, string> = new Map([
  ...namesOf(answers, ""),
  ...namesOf(messages, "Request"),
]);

function namesOf(shapes: Readonly<Record<string, unknown>>, ending: string): (readonly [AnySchema, string])[] {
  const pascal = (name: string): string =>
    name.toLowerCase().replace(/(?:^|_)(\w)/g, (_, first: string) => first.toUpperCase());
  return Object.entries(shapes).flatMap(([name, shape]) =>
    shape instanceof Schema ? [[shape as AnySchema, `${pascal(name)}${ending}`] as const] : [],
  );
}

const ANSWERS = new Set<unknown>(Object.values(answers));
export const isAnswer = (schema: AnySchema): boolean => ANSWERS.has(schema);
const NAMED: ReadonlyMap<unknown, string> = new Map([...NAMES].map(([{ json }, name]) => [json, name]));

/** The shape with room for fields of later versions. Shapes with a name are referred to under `root`. */
export function openShape(json: JsonSchema, root: string): JsonSchema {
  const entries = Object.entries(json).filter(([key, value]) => !(key === "additionalProperties" && value === false));
  return Object.fromEntries(entries.map(([key, value]) => [key, openValue(value, root)]));
}

function openValue(value: unknown, root: string): unknown {
  if (Array.isArray(value)) return value.map((each) => openValue(each, root));
  if (!isMap(value)) return value;
  const name = NAMED.get(value);
  return name === undefined ? openShape(value, root) : { $ref: `${root}/${name}` };
}

/** What each command prints with `--json`, as JSON Schema. */
export function outputSchema(): JsonSchema {
  const root = "#/$defs";
  const answered = [...NAMES].filter(([schema]) => isAnswer(schema));
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $defs: Object.fromEntries(answered.map(([{ json }, name]) => [name, openShape(json, root)])),
    properties: Object.fromEntries(
      Object.entries(OUTPUTS).map(([command, { json }]) => [command, openValue(json, root)]),
    ),
  };
}

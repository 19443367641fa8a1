import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { isMap } from "../std/schema.ts";
import { defaultsShape, planSchema, planShape, taskShape } from "./shape.ts";

const good = (name: string): unknown =>
  parse(readFileSync(resolve(import.meta.dirname, "../../test/corpus/plans/good", name), "utf8"));

/** A JSON Schema validator for the few words that ours uses. */
function complaints(schema: unknown, value: unknown, root: unknown = schema, path = "$"): readonly string[] {
  if (schema === true || !isMap(schema)) return [];
  const ref = schema.$ref;
  if (typeof ref === "string") {
    const target = ref
      .split("/")
      .slice(1)
      .reduce<unknown>((at, key) => (isMap(at) ? at[key] : undefined), root);
    return complaints(target, value, root, path);
  }
  const anyOf = schema.anyOf;
  if (Array.isArray(anyOf) && !anyOf.some((one) => complaints(one, value, root, path).length === 0))
    return [`${path} fits none`];
  const own = keywordComplaints(schema, value, path);
  if (Array.isArray(value))
    return [...own, ...value.flatMap((item, at) => complaints(schema.items, item, root, `${path}[${at}]`))];
  if (!isMap(value)) return own;
  const properties = isMap(schema.properties) ? schema.properties : {};
  const ignored = Object.keys(isMap(schema.patternProperties) ? schema.patternProperties : {});
  const inner = Object.entries(value).flatMap(([key, below]) => {
    if (ignored.some((pattern) => new RegExp(pattern).test(key))) return [];
    if (Object.hasOwn(properties, key)) return complaints(properties[key], below, root, `${path}.${key}`);
    const more = schema.additionalProperties;
    return more === false ? [`${path}.${key} is unknown`] : complaints(more, below, root, `${path}.${key}`);
  });
  return [...own, ...inner];
}

function keywordComplaints(schema: Readonly<Record<string, unknown>>, value: unknown, path: string): readonly string[] {
  const type = Array.isArray(value) ? "array" : isMap(value) ? "object" : typeof value;
  const wanted = schema.type === "integer" ? "number" : schema.type;
  const checks: readonly (readonly [string, boolean])[] = [
    ["type", wanted === undefined || wanted === type],
    ["enum", !Array.isArray(schema.enum) || schema.enum.includes(value)],
    [
      "pattern",
      typeof schema.pattern !== "string" || typeof value !== "string" || new RegExp(schema.pattern, "u").test(value),
    ],
    ["minimum", typeof schema.minimum !== "number" || typeof value !== "number" || value >= schema.minimum],
    [
      "required",
      !Array.isArray(schema.required) ||
        !isMap(value) ||
        schema.required.every((key) => Object.hasOwn(value, String(key))),
    ],
  ];
  return checks.filter(([, holds]) => !holds).map(([word]) => `${path} breaks ${word}`);
}

describe("the JSON Schema of a plan", () => {
  test.each(["contract.yaml", "everything.yaml", "list.yaml"])("accepts %s", (name) => {
    expect(complaints(planSchema(), good(name))).toEqual([]);
  });

  test.each([
    ["an unknown field", { tasks: { a: { run: "x", rnu: 1 } } }],
    ["a task without a command", { tasks: { a: {} } }],
    ["no tasks", {}],
    ["a wrong word", { tasks: { a: { run: "x", priority: "hgih" } } }],
    ["a size without unit", { tasks: { a: { run: "x", resources: { memory: 4096 } } } }],
    ["a field that is not run yet", { tasks: { a: { run: "x", cache: {} } } }],
    ["a wrong duration", { tasks: { a: { run: "x", timeout: "soon" } } }],
  ])("refuses %s", (_, plan) => {
    expect(complaints(planSchema(), plan)).not.toEqual([]);
  });

  test("shows every field that is read, and says of each what it is", () => {
    for (const shape of [planShape, taskShape, defaultsShape]) {
      const properties = shape.json.properties as Readonly<Record<string, { readonly description?: string }>>;
      const read = Object.entries(shape.fields).filter(([, field]) => field.expects !== "absent");
      expect(Object.keys(properties)).toEqual(read.map(([key]) => key));
      for (const [key, property] of Object.entries(properties))
        expect(property.description, key).toMatch(/^[A-Z].*\.$/);
    }
  });

  test("is plain JSON of the draft it names", () => {
    const schema = planSchema();
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
    expect(schema.$schema).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(schema).not.toHaveProperty("$id");
  });

  test("is the same language as the reader's: what `defaults` may not hold is not in it", () => {
    const fields = Object.keys(defaultsShape.fields);
    for (const own of ["id", "run", "prompt", "call", "needs", "after", "matrix", "idempotencyKey"])
      expect(fields).not.toContain(own);
    expect(Object.keys(taskShape.fields).sort()).toEqual(
      [...fields, "run", "prompt", "call", "needs", "after", "matrix", "idempotencyKey"].sort(),
    );
  });
});

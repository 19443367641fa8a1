import { expect, test } from "vitest";
import { Problems } from "./problems.ts";
import { integer, string } from "./schema.ts";
import { tagged } from "./schema-tagged.ts";

const SHAPE = tagged("kind", {
  circle: { radius: integer() },
  label: { text: string({ max: 9 }), size: integer().optional() },
});

function problemsOf(value: unknown): readonly string[] {
  const problems = new Problems("shape");
  SHAPE.read(value, problems);
  return problems.list.map(({ message }) => message);
}

test("an object is read by the fields of its kind", () => {
  const read = SHAPE.read({ kind: "label", text: "here" }, new Problems("shape"));
  expect(read).toEqual({ kind: "label", text: "here" });
  // The compiler knows which kind has which fields.
  expect(read?.kind === "label" && read.text.length).toBe(4);
});

test.each([
  [{ kind: "circle", text: "here" }, ['"text" is not a field of this map.', 'shape lacks "radius".']],
  [{ kind: "square" }, ['kind must be one of circle, label, not "square".']],
  [{ radius: 1 }, [expect.stringMatching(/^kind must be one of circle, label, not /)]],
  [7, ["shape must be a map, not 7."]],
])("%j is none", (value, problems) => {
  expect(problemsOf(value)).toEqual(problems);
});

test("as JSON Schema it is one of its kinds", () => {
  expect(SHAPE.json).toMatchObject({
    anyOf: [
      { properties: { kind: { enum: ["circle"] } }, required: ["kind", "radius"] },
      { properties: { kind: { enum: ["label"] } }, required: ["kind", "text"] },
    ],
  });
});

import { describe, expect, expectTypeOf, test } from "vitest";
import { PROBLEMS_MAX, Problems } from "./problems.ts";
import { boolean, type Infer, integer, list, number, oneOf, type Schema, string, text, union } from "./schema.ts";
import { object, record, refused } from "./schema-maps.ts";

const read = <T>(schema: Schema<T>, value: unknown) => {
  const problems = new Problems("the value");
  return { read: schema.read(value, problems), problems: problems.list };
};
const codes = (schema: Schema<unknown>, value: unknown): readonly string[] =>
  read(schema, value).problems.map(({ code, path, at }) => `${path.join(".")} ${at} ${code}`);

const even = text({
  expects: "an even number in words",
  parse: (raw) => ({ two: 2, four: 4 })[raw],
  json: { enum: ["two", "four"] },
});
const lower = { accepts: (key: string) => /^[a-z]+$/.test(key), expects: "lower case", pattern: "^[a-z]+$" };

const person = object(
  {
    name: string({ min: 1, max: 20 }).describe("What the person is called."),
    age: integer({ min: 0, max: 150 }).optional(),
    level: oneOf(["low", "high"]).default("low"),
    tags: list(string({ max: 5 })).optional(),
    address: object({ street: string({ max: 9 }) }, { name: "an address" }).optional(),
    fax: refused('"fax" is not a thing any more.'),
  },
  { name: "a person", ignores: /^x-/ },
);

describe("a schema", () => {
  test("reads what fits, and fills in what may be left out", () => {
    expect(read(person, { name: "Ada", "x-note": 1 })).toEqual({ read: { name: "Ada", level: "low" }, problems: [] });
  });

  test("has the type of what it reads", () => {
    expectTypeOf<Infer<typeof person>>().toEqualTypeOf<{
      readonly name: string;
      readonly level: "low" | "high";
      readonly age?: number;
      readonly tags?: readonly string[];
      readonly address?: { readonly street: string };
      readonly fax?: never;
    }>();
  });

  test("reports every problem at once, each with its path, and whether the key or the value is to blame", () => {
    const value = { name: 7, age: -1, level: "hihg", tags: ["ok", "too long", 3], address: { steret: "x" }, nmae: "x" };
    expect(codes(person, value)).toEqual([
      "name value type",
      "age value value",
      "level value value",
      "tags.1 value value",
      "tags.2 value type",
      "address.steret key key-unknown",
      "nmae key key-unknown",
    ]);
  });

  test("says what was expected, what was found, and what was probably meant", () => {
    expect(read(person, { name: "Ada", level: "hihg" }).problems).toEqual([
      {
        code: "value",
        path: ["level"],
        at: "value",
        message: 'level must be one of low, high, not "hihg".',
        hint: 'Did you mean "high"?',
      },
    ]);
    expect(read(person, { name: "Ada", aeg: 3 }).problems).toEqual([
      {
        code: "key-unknown",
        path: ["aeg"],
        at: "key",
        message: '"aeg" is not a field of a person.',
        hint: 'Did you mean "age"?',
      },
    ]);
    expect(read(person, []).problems).toMatchObject([{ message: "the value must be a map, not an empty list." }]);
  });

  test("does not call a misspelt key missing too", () => {
    expect(codes(person, { naem: "Ada" })).toEqual(["naem key key-unknown"]);
    expect(codes(person, {})).toEqual([" key missing"]);
  });

  test("refuses a field that is known and not supported, once", () => {
    expect(codes(person, { fax: 1 })).toEqual(["fax key unsupported"]);
  });

  test.each(["__proto__", "constructor", "prototype"])("refuses the key %s wherever keys may stand", (key) => {
    const value = JSON.parse(`{"name":"Ada","${key}":"x"}`) as unknown;
    expect(codes(person, value)).toEqual([`${key} key key-forbidden`]);
    expect(codes(record({ ...lower, accepts: () => true }, string({ max: 9 })), value)).toEqual([
      `${key} key key-forbidden`,
    ]);
  });

  test("gives back the very list or map it was given when reading changes nothing", () => {
    const names = ["a", "b"];
    expect(read(list(string({ max: 5 })), names).read).toBe(names);
    const map = { a: "x" };
    expect(read(record(lower, string({ max: 5 })), map).read).toBe(map);
    expect(read(list(even), ["two", "four"]).read).toEqual([2, 4]);
    expect(read(record(lower, even), { a: "two" }).read).toEqual({ a: 2 });
    expect(map).toEqual({ a: "x" });
  });

  test("asks the member of a union that takes this kind of value", () => {
    const either = union(even, list(even), object({ from: even }));
    expect(read(either, "two").read).toBe(2);
    expect(read(either, ["two"]).read).toEqual([2]);
    expect(codes(either, { from: "one" })).toEqual(["from value value"]);
    expect(codes(either, 2)).toEqual([" value type"]);
    expect(codes(either, null)).toEqual([" value type"]);
  });

  test("takes the first member of a union that can read it where several take the kind", () => {
    const either = union(even, oneOf(["one"]));
    expect(read(either, "one").read).toBe("one");
    expect(read(either, "two").read).toBe(2);
    expect(codes(either, "three")).toEqual([" value value"]);
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY, 1e308 * 10, 0.5, 2 ** 53, "1", null, true])(
    "%s is not a whole number",
    (value) => {
      expect(codes(integer(), value)).toHaveLength(1);
    },
  );

  test("knows one zero only", () => {
    expect(Object.is(read(number(), -0).read, 0)).toBe(true);
  });

  test.each(["a\u0000b", "\ud800", "x".repeat(6)])("%j is not text of at most five characters", (value) => {
    expect(codes(string({ max: 5 }), value)).toHaveLength(1);
  });

  test("refuses keys that do not follow the rule, and maps of too many", () => {
    expect(codes(record(lower, boolean()), { A: true, b: true })).toEqual(["A key value"]);
    expect(codes(record(lower, boolean(), { max: 1 }), { a: true, b: true })).toHaveLength(1);
  });

  test("keeps a bounded number of problems and counts the rest", () => {
    const problems = new Problems("the value");
    list(boolean()).read(Array<number>(1_000).fill(1), problems);
    expect(problems.list).toHaveLength(PROBLEMS_MAX);
    expect(problems.count).toBe(1_000);
  });

  test("never puts on the screen what could move the cursor", () => {
    expect(read(boolean(), "\u001b[2J\u202e").problems[0]?.message).toBe(
      'the value must be true or false, not "\\u001b[2J\\u202e".',
    );
  });

  test("prints itself as JSON Schema, sentences and defaults included", () => {
    expect(person.json).toEqual({
      type: "object",
      properties: {
        name: { type: "string", minLength: 1, maxLength: 20, description: "What the person is called." },
        age: { type: "integer", minimum: 0, maximum: 150 },
        level: { type: "string", enum: ["low", "high"], default: "low" },
        tags: { type: "array", items: { type: "string", maxLength: 5 } },
        address: {
          type: "object",
          properties: { street: { type: "string", maxLength: 9 } },
          required: ["street"],
          additionalProperties: false,
        },
      },
      patternProperties: { "^x-": true },
      required: ["name"],
      additionalProperties: false,
    });
    expect(record(lower, union(even, number({ min: 1 }))).json).toEqual({
      type: "object",
      propertyNames: { pattern: "^[a-z]+$" },
      additionalProperties: {
        anyOf: [
          { type: "string", enum: ["two", "four"] },
          { type: "number", minimum: 1 },
        ],
      },
    });
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { always } from "../../../test/rig/property.ts";
import { isMap } from "../../std/schema.ts";
import { scanJson } from "./json-scan.ts";
import { offsetOf, Place } from "./places.ts";

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const offsets = (text: string, path: readonly (string | number)[]) => {
  const places = new Place();
  places.want(path);
  scanJson(text, { places });
  return { key: offsetOf(places, path, "key"), value: offsetOf(places, path, "value") };
};

describe("the JSON scanner", () => {
  test("finds a fault exactly where JSON.parse does not read the text", async () => {
    const piece = fc.constantFrom(
      ...'{}[],:"\\ \n\t0123456789-+.eEtruefalsn'.split(""),
      "true",
      "null",
      '"a"',
      '"b":',
      "\\u00",
      "\u0001",
      "\u001f",
      "1e5",
      "-0.1",
      "\u2028",
    );
    const near = fc
      .json({ maxDepth: 3 })
      .chain((json) =>
        fc
          .tuple(fc.nat(json.length), fc.nat(2), fc.oneof(piece, fc.constant("")))
          .map(([at, drop, add]) => json.slice(0, at) + add + json.slice(at + drop)),
      );
    const wild = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));
    const agrees = fc.property(fc.oneof(near, wild), (text) => {
      expect(scanJson(text).fault === undefined, JSON.stringify(text)).toBe(isJson(text));
    });
    await always(10_000, agrees);
  });

  test("finds where every value stands", async () => {
    const finds = fc.property(fc.json({ maxDepth: 3 }), fc.constantFrom(0, 1, 3), (json, indent) => {
      const value = JSON.parse(json) as unknown;
      const text = JSON.stringify(value, undefined, indent);
      for (const [path, inner] of everything(value)) {
        const { key, value: at } = offsets(text, path);
        expect(text.slice(at).replace(/\s/g, "")).toMatch(startingWith(JSON.stringify(inner)));
        const last = path.at(-1);
        if (typeof last === "string") expect(text.slice(key).startsWith(JSON.stringify(last))).toBe(true);
      }
    });
    await always(300, finds);
  });

  test("sees keys written twice, few or many, plain or escaped", () => {
    expect(scanJson('{"a":1,"b":2,"a":3}').duplicates).toEqual([{ key: "a", offset: 13, first: 1 }]);
    expect(scanJson('{"a":1,"\\u0061":3}').duplicates).toEqual([{ key: "a", offset: 7, first: 1 }]);
    expect(scanJson('{"\\u0061":1,"a":3}').duplicates).toEqual([{ key: "a", offset: 12, first: 1 }]);
    const many = Array.from({ length: 40 }, (_, no) => `"k${no}":0`).join(",");
    expect(scanJson(`{${many},"k3":1}`).duplicates).toMatchObject([{ key: "k3" }]);
    expect(scanJson(`{${many},"l":{"k3":1}}`).duplicates).toEqual([]);
    expect(scanJson('[{"a":1},{"a":1}]').duplicates).toEqual([]);
  });

  test("only counts the keys of tasks, until it is asked to be thorough", () => {
    const text = '{"tasks":{"10":{},"9":{},"10":{}}}';
    expect(scanJson(text)).toEqual({ duplicates: [], tasks: { count: 3, hasNumberKey: true } });
    expect(scanJson(text, { isThorough: true })).toEqual({
      duplicates: [{ key: "10", offset: 25, first: 10 }],
      tasks: { count: 3, hasNumberKey: true, keys: ["10", "9"] },
    });
  });

  test("stops at a depth that no plan has", () => {
    expect(scanJson("[".repeat(1_000_000)).fault).toMatchObject({ code: "PLAN_TOO_LARGE", spot: { offset: 100 } });
  });
});

/** Every path of a value, with the value there. Only keys that are written once in their map. */
function everything(
  value: unknown,
  path: readonly (string | number)[] = [],
): [readonly (string | number)[], unknown][] {
  const inner = Array.isArray(value) ? [...value.entries()] : isMap(value) ? Object.entries(value) : [];
  return [[path, value], ...inner.flatMap(([key, below]) => everything(below, [...path, key]))];
}

const startingWith = (json: string): RegExp =>
  new RegExp(`^${json.replace(/\s/g, "").replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`);

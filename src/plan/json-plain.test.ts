import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { always } from "../../test/rig/property.ts";
import { readPlainJson } from "./json-plain.ts";
import { scanJson } from "./json-scan.ts";
import { DEPTH_MAX } from "./source.ts";

describe("JSON as programs write it", () => {
  test("is read whatever it is, in one line or several", async () => {
    const any = fc.property(fc.jsonValue(), fc.constantFrom(0, 1, 2, 4), fc.boolean(), (value, indent, hasEnd) => {
      const text = `${JSON.stringify(value, null, indent)}${hasEnd ? "\n" : ""}`;
      expect(readPlainJson(text)?.value).toEqual(JSON.parse(text));
    });
    await always(2_000, any);
  });

  test("whatever is read has no fault, and no key that is written twice", async () => {
    const piece = fc.constantFrom(...'{}[],: \n01-e"'.split(""), '"a"', '"a":', '"b":', '"1":', "true");
    const near = fc
      .json({ maxDepth: 3 })
      .chain((json) =>
        fc
          .tuple(fc.nat(json.length), fc.nat(2), piece)
          .map(([at, drop, add]) => json.slice(0, at) + add + json.slice(at + drop)),
      );
    const wild = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(""));
    const agrees = fc.property(fc.oneof(near, wild), (text) => {
      if (readPlainJson(text) === undefined) return;
      expect(scanJson(text, { isThorough: true })).toMatchObject({ duplicates: [] });
      expect(scanJson(text).fault).toBeUndefined();
    });
    await always(20_000, agrees);
  });

  test.each([
    ["a key that is written twice", '{"a":1,"a":2}'],
    ["numbers as keys that are not in their order", '{"tasks":{"2":{},"1":{}}}'],
    ["a space that no program would write", '{ "a":1}'],
    ["a number that is written otherwise", '{"a":1.0}'],
    ["a sign that need not be escaped", '{"a":"\\u0061"}'],
    ["something after it", '{"a":1}\n\n'],
    ["a text that is long", JSON.stringify("x".repeat(256 * 1024))],
    ["no JSON", "{"],
    ["more levels than there may be", `${"[".repeat(DEPTH_MAX + 1)}${"]".repeat(DEPTH_MAX + 1)}`],
    ["more levels than can be walked", `${"[".repeat(100_000)}${"]".repeat(100_000)}`],
  ])("%s is left to the scanner", (_, text) => {
    expect(readPlainJson(text)).toBeUndefined();
  });

  test("as many levels as there may be are read", () => {
    const text = `${"[".repeat(DEPTH_MAX)}${"]".repeat(DEPTH_MAX)}`;
    expect(readPlainJson(text)).toBeDefined();
    expect(scanJson(text).fault).toBeUndefined();
  });
});

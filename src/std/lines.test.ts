import fc from "fast-check";
import { expect, test } from "vitest";
import { always } from "../../test/rig/property.ts";
import { type Line, LineCutter } from "./lines.ts";

const cut = (chunks: readonly Buffer[], max: number): readonly object[] => {
  const cutter = new LineCutter(max);
  const shown = (line: Line): object => ("bytes" in line ? { text: line.bytes.toString("utf8") } : line);
  return [...chunks.flatMap((chunk) => cutter.push(chunk).map(shown)), ...cutter.end().map(shown)];
};

test("however the bytes are cut into chunks, the lines are the same", async () => {
  const text = fc.array(fc.oneof(fc.constant("\n"), fc.string({ unit: "grapheme" })), { maxLength: 30 });
  await always(
    300,
    fc.property(text, fc.array(fc.nat(200), { maxLength: 10 }), (parts, cuts) => {
      const bytes = Buffer.from(parts.join(""));
      const places = [0, ...cuts.map((at) => Math.min(at, bytes.length)).sort((a, b) => a - b), bytes.length];
      const chunks = places.slice(1).map((end, at) => bytes.subarray(places[at], end));
      expect(cut(chunks, 1_000_000)).toEqual(cut([bytes], 1_000_000));
      const lines = parts.join("").split("\n");
      if (lines.at(-1) === "") lines.pop();
      expect(cut(chunks, 1_000_000)).toEqual(lines.map((line) => ({ text: line })));
    }),
  );
});

test("a line that is too long is passed over, as long as it lasts, and the next one is read", () => {
  const chunks = ["abc\n12345", "6789", "0\nxyz", "\n123456"].map((text) => Buffer.from(text));
  expect(cut(chunks, 5)).toEqual([{ text: "abc" }, { tooLong: true }, { text: "xyz" }, { tooLong: true }]);
});

test("whether a line is underway, and too long, can be told before it ends", () => {
  const cutter = new LineCutter(5);
  const states = ["", "123", "\n", "123", "456", "\n"].map((text) => {
    cutter.push(Buffer.from(text));
    return [cutter.isOpen, cutter.isTooLong];
  });
  expect(states).toEqual([
    [false, false],
    [true, false],
    [false, false],
    [true, false],
    [true, true],
    [false, false],
  ]);
});

import { expect, test } from "vitest";
import { closest } from "./closest.ts";

test.each([
  ["shp", ["ship", "shop2", "test"], "ship"],
  ["neds", ["needs", "reads"], "needs"],
  ["BUILD", ["test", "build"], "build"],
  ["hgih", ["high", "low"], "high"],
])("%s is probably one of %j", (word, candidates, meant) => {
  expect(closest(word, candidates)).toBe(meant);
});

test("a word that is far from all of them gets no suggestion", () => {
  expect(closest("deploy", ["fetch", "build"])).toBeUndefined();
});

test("one letter is never taken for another", () => {
  expect(closest("a", ["b", "c"])).toBeUndefined();
  expect(closest("A", ["a"])).toBe("a");
});

test("a word of a megabyte costs nothing", () => {
  expect(closest("x".repeat(1_000_000), ["y".repeat(1_000_000)])).toBeUndefined();
});

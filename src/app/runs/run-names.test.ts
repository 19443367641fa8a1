import { expect, test } from "vitest";
import type { RunRow } from "../../store/rows.ts";
import { RunNames } from "./run-names.ts";

/** A source of these suffixes, one after the other, and a store with these runs. */
function openNames(suffixes: string, has: readonly string[] = []): RunNames {
  const left = suffixes.split("");
  const runs = async (which: unknown) => (has.includes((which as { id: string }).id) ? [{} as RunRow] : []);
  return new RunNames({ secrets: { suffix: () => left.shift() as string }, store: { runs } });
}

test("a name is made of the plan's, and no run in the store has it", async () => {
  const names = openNames("abc", ["night-shift-a"]);
  expect(await names.take("night shift")).toBe("night-shift-b");
});

test("a name that was given to one caller is given to no other before its run is there", async () => {
  const names = openNames("aaba");
  const id = await names.take("x");
  expect([id, await names.take("x")]).toEqual(["x-a", "x-b"]);
  names.settled(id);
  // The run was not made after all.
  expect(await names.take("x")).toBe("x-a");
});

test("two callers who look at the same moment do not find the same name", async () => {
  const names = openNames("aabb");
  expect(new Set(await Promise.all([names.take("x"), names.take("x")]))).toEqual(new Set(["x-a", "x-b"]));
});

test("a suffix that is taken again and again is made longer", async () => {
  const names = openNames("aaaaaaaaa", ["x-a"]);
  expect(await names.take("x")).toBe("x-a-9");
});

import { expect, test } from "vitest";
import { ManualClock } from "../../test/rig/clock.ts";
import type { RunRow } from "../store/rows.ts";
import { RunNames } from "./run-names.ts";

/** These suffixes one after the other, and a store that has these runs and notes what it is asked. */
function openNames(suffixes: string, has: readonly string[] = []) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const left = suffixes.split("");
  const runs = async (which: unknown) => {
    const { id } = which as { readonly id: string };
    asked.push(id);
    return has.includes(id) ? [{} as RunRow] : [];
  };
  const names = new RunNames({ clock, secrets: { suffix: () => left.shift() as string }, store: { runs } });
  return { clock, asked, names };
}

test("the next name of a plan that may come again is found while nobody waits for it", async () => {
  const { clock, asked, names } = openNames("abcd", ["night-shift-b"]);
  expect(await names.take("night shift")).toBe("night-shift-a");
  names.expect("night shift");
  expect(asked.splice(0)).toEqual(["night-shift-a"]);
  await clock.settle();
  expect(asked.splice(0)).toEqual(["night-shift-b", "night-shift-c"]);
  expect(await names.take("night shift")).toBe("night-shift-c");
  expect(asked).toEqual([]);
  expect(await names.take("night shift")).toBe("night-shift-d");
});

test("what was found ahead is given to one alone, however alike plans are called, and only one is found for each", async () => {
  const { clock, names } = openNames("aabbcd");
  names.expect("x y");
  names.expect("x y");
  await clock.settle();
  expect(await names.take("x-y")).toBe("x-y-b");
  expect(await Promise.all([names.take("x y"), names.take("x y")])).toEqual(["x-y-a", "x-y-c"]);
  expect(await names.take("x y")).toBe("x-y-d");
});

test("what was given to somebody is given to nobody else before its run is there", async () => {
  const { clock, names } = openNames("aabac");
  const id = await names.take("x");
  names.expect("x");
  await clock.settle();
  expect([id, await names.take("x")]).toEqual(["x-a", "x-b"]);
  names.settled(id);
  // There was no run after all.
  expect(await names.take("x")).toBe("x-a");
});

test("two who look at the same moment do not find the same", async () => {
  const { names } = openNames("aabb");
  expect(new Set(await Promise.all([names.take("x"), names.take("x")]))).toEqual(new Set(["x-a", "x-b"]));
});

test("names are found ahead for the latest plans only", async () => {
  const { clock, asked, names } = openNames("abcdefghijklmnopqrstuvw");
  for (let no = 0; no < 17; no++) names.expect(`p${no}`);
  await clock.settle();
  asked.length = 0;
  for (let no = 1; no < 17; no++) await names.take(`p${no}`);
  expect(asked).toEqual([]);
  await names.take("p0");
  expect(asked.length).toBe(1);
});

test("a store that cannot be asked ahead is asked again when the name is needed", async () => {
  const clock = new ManualClock();
  let isBroken = true;
  const runs = async () => (isBroken ? Promise.reject(new Error("closed")) : []);
  const names = new RunNames({ clock, secrets: { suffix: () => "a" }, store: { runs } });
  names.expect("x");
  await clock.settle();
  await expect(names.take("x")).rejects.toThrow("closed");
  isBroken = false;
  expect(await names.take("x")).toBe("x-a");
});

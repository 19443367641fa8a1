import { expect, test } from "vitest";
import { rangesOf, Skips } from "./skips.ts";

test("numbers become the fewest ranges", () => {
  expect([...rangesOf([])]).toEqual([]);
  expect([...rangesOf([3])]).toEqual([{ first: 3, last: 3 }]);
  expect([...rangesOf([1, 2, 3, 5, 8, 9])]).toEqual([
    { first: 1, last: 3 },
    { first: 5, last: 5 },
    { first: 8, last: 9 },
  ]);
});

test("what is left out is not counted, at the beginning, in the middle, and when a range is begun from within", () => {
  const ranges = [...rangesOf([1, 2, 5, 6, 7, 10])];
  const skips = new Skips(ranges);
  const counted = [0];
  for (let no = 0; no < 5; no++) counted.push(skips.after(counted.at(-1) as number));
  expect(counted).toEqual([0, 3, 4, 8, 9, 11]);
  expect(new Skips(ranges).after(5)).toBe(8);
  expect(new Skips([]).after(4)).toBe(5);
});

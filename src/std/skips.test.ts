import { expect, test } from "vitest";
import { joined, type Range, Skips } from "./skips.ts";

const range = (first: number, last: number): Range => ({ first, last });

test("ranges that touch become one", () => {
  expect([...joined([])]).toEqual([]);
  expect([...joined([range(3, 3)])]).toEqual([range(3, 3)]);
  expect([...joined([range(1, 2), range(3, 3), range(5, 5), range(8, 8), range(9, 12)])]).toEqual([
    range(1, 3),
    range(5, 5),
    range(8, 12),
  ]);
});

test("what is left out is not counted, at the beginning, in the middle, and when a range is begun from within", () => {
  const ranges = [range(1, 2), range(5, 7), range(10, 10)];
  const skips = new Skips(ranges);
  const counted = [0];
  for (let no = 0; no < 5; no++) counted.push(skips.after(counted.at(-1) as number));
  expect(counted).toEqual([0, 3, 4, 8, 9, 11]);
  expect(new Skips(ranges).after(5)).toBe(8);
  expect(new Skips([]).after(4)).toBe(5);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { always } from "../../../test/rig/property.ts";
import { PRIORITIES, type Priority } from "../../domain/spec.ts";
import { LANE_WEIGHTS, Lanes } from "./lanes.ts";

const all = (): boolean => true;
const pickOf = (lanes: Lanes, can: (lane: Priority) => boolean): Priority | undefined =>
  lanes.pick((lane) => (can(lane) ? lane : undefined));
const picks = (lanes: Lanes, count: number, can: (lane: Priority) => boolean = all): (Priority | undefined)[] =>
  Array.from({ length: count }, () => pickOf(lanes, can));
const countOf = (list: readonly (Priority | undefined)[], lane: Priority): number =>
  list.filter((each) => each === lane).length;

test("when all have work, every hundred dispatches are shared exactly 50/30/15/5, wherever the hundred begins", () => {
  const list = picks(new Lanes(), 400);
  for (let from = 0; from <= 300; from++) {
    const hundred = list.slice(from, from + 100);
    for (const lane of PRIORITIES) expect(countOf(hundred, lane)).toBe(LANE_WEIGHTS[lane]);
  }
});

test("they are interleaved: the heaviest never goes more than twice in a row", () => {
  const list = picks(new Lanes(), 200).join(" ");
  expect(list).not.toContain("critical critical critical");
  expect(list.slice(0, 40)).toMatch(/^critical high critical/);
});

test("a lane always goes when any can, and never a lane that cannot", async () => {
  const who = fc.array(fc.subarray([...PRIORITIES]), { size: "max", maxLength: 200 });
  await always(
    300,
    fc.property(who, (turns) => {
      const lanes = new Lanes();
      for (const able of turns) {
        const lane = pickOf(lanes, (each) => able.includes(each));
        if (able.length === 0) expect(lane).toBeUndefined();
        else expect(able).toContain(lane);
      }
    }),
  );
});

test("those that are left share what is left in proportion", () => {
  const list = picks(new Lanes(), 200, (lane) => lane === "normal" || lane === "low");
  expect([countOf(list, "normal"), countOf(list, "low")]).toEqual([150, 50]);
});

test("whatever happened before, when all have work again each comes within one turn of its share", async () => {
  const before = fc.array(fc.subarray([...PRIORITIES], { minLength: 1 }), { size: "max", maxLength: 100 });
  await always(
    200,
    fc.property(before, (turns) => {
      const lanes = new Lanes();
      for (const able of turns) pickOf(lanes, (lane) => able.includes(lane));
      const list = picks(lanes, 100);
      for (const lane of PRIORITIES) expect(Math.abs(countOf(list, lane) - LANE_WEIGHTS[lane])).toBeLessThanOrEqual(1);
    }),
  );
});

test("a lane that stayed away has saved nothing up", () => {
  const lanes = new Lanes();
  picks(lanes, 1_000, (lane) => lane === "critical");
  expect(countOf(picks(lanes, 100), "low")).toBe(LANE_WEIGHTS.low);
});

import fc from "fast-check";
import { expect, test } from "vitest";
import { always } from "../../test/rig/property.ts";
import { Heap } from "./heap.ts";

interface Item {
  key: number;
  place: number;
}
const newHeap = (): Heap<Item> => new Heap<Item>((a, b) => a.key < b.key);

test("an empty heap has nothing to give", () => {
  const heap = newHeap();
  expect([heap.size, heap.peek(), heap.pop()]).toEqual([0, undefined, undefined]);
});

test("an item that was taken out knows it, and can be put in again", () => {
  const heap = newHeap();
  const item: Item = { key: 1, place: -1 };
  heap.push(item);
  heap.remove(item);
  expect(item.place).toBe(-1);
  heap.remove(item);
  heap.push(item);
  expect(heap.pop()).toBe(item);
});

test("whatever is put in, taken out and moved, the least comes out first, and every item knows its place", async () => {
  const steps = fc.array(
    fc.record({
      kind: fc.constantFrom("push", "push", "push", "pop", "remove", "move"),
      pick: fc.nat(),
      key: fc.nat(1_000),
    }),
    {
      size: "max",
      maxLength: 200,
    },
  );
  await always(
    200,
    fc.property(steps, (list) => {
      const heap = newHeap();
      const model: Item[] = [];
      for (const { kind, pick, key } of list) {
        const chosen = model[pick % Math.max(1, model.length)];
        if (kind === "push") {
          const item = { key, place: -1 };
          heap.push(item);
          model.push(item);
        } else if (kind === "pop") {
          const least = heap.pop();
          expect(least?.key).toBe(model.length === 0 ? undefined : Math.min(...model.map((item) => item.key)));
          if (least !== undefined) model.splice(model.indexOf(least), 1);
        } else if (chosen !== undefined && kind === "remove") {
          heap.remove(chosen);
          model.splice(model.indexOf(chosen), 1);
        } else if (chosen !== undefined) {
          chosen.key = key;
          heap.update(chosen);
        }
        expect(heap.size).toBe(model.length);
        expect(model.every((item) => heap.values()[item.place] === item)).toBe(true);
      }
      const rest = model.map(() => heap.pop()?.key);
      expect(rest).toEqual(model.map((item) => item.key).sort((a, b) => a - b));
    }),
  );
});

test("told in order, everything is in order, and nothing is taken out", async () => {
  await always(
    200,
    fc.property(fc.array(fc.nat(50)), (keys) => {
      const heap = newHeap();
      for (const key of keys) heap.push({ key, place: -1 });
      expect(Array.from(heap.ascending(), ({ key }) => key)).toEqual(keys.toSorted((a, b) => a - b));
      expect(heap.size).toBe(keys.length);
    }),
  );
});

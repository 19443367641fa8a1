/** What every store promises about who schedules for it: a part of the suite of all stores. */
import { describe, expect, test } from "vitest";
import type { Owner, Store } from "../../src/store/store.ts";
import { owner } from "./builders.ts";
import type { OpenStore } from "./stores.ts";

const lives = (): boolean => true;

async function epochOf(store: Store): Promise<number> {
  const acquired = await store.acquire(owner("rota run"));
  if (!acquired.ok) throw new Error("the owner of the store lives");
  return acquired.value.epoch;
}

export function owningConformance(name: string, open: OpenStore): void {
  describe(`${name}: ownership`, () => {
    test("a store without an owner is given to the first scheduler that asks", async () => {
      await using store = await open({ lives });
      expect(await store.owner()).toBeUndefined();
      expect(await store.acquire(owner("rota run"))).toMatchObject({ ok: true });
      expect(await store.owner()).toEqual({ ...owner("rota run"), lives: true });
    });

    test("while its owner lives it is given to no other, and the answer says whose it is", async () => {
      await using store = await open({ lives });
      await store.acquire(owner("first", 1));
      const first = { ...owner("first", 1), lives: true };
      expect(await store.acquire(owner("second", 2))).toEqual({ ok: false, error: first });
      expect(await store.owner()).toEqual(first);
    });

    test("it is taken over from an owner that is dead, and the epoch grows each time", async () => {
      await using store = await open();
      const epochs = [await epochOf(store), await epochOf(store), await epochOf(store)];
      expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => a - b));
      expect(await store.owner()).toEqual({ ...owner("rota run"), lives: false });
    });

    test("the one on record is judged, by what it said of itself", async () => {
      const asked: Owner[] = [];
      await using store = await open({ lives: (found) => asked.push(found) === 0 });
      await store.acquire(owner("first", 1));
      await store.acquire(owner("second", 2));
      expect(asked).toEqual([owner("first", 1)]);
    });

    test("a term is renewed for as long as its owner has the store, with the same epoch", async () => {
      await using store = await open({ lives });
      const first = await store.acquire(owner("first", 1));
      if (!first.ok) throw new Error("it was free");
      expect(await store.renew(first.value)).toMatchObject({ ok: true, value: { epoch: first.value.epoch } });
      await store.release(first.value);
      expect(await store.renew(first.value)).toEqual({ ok: false, error: "ownership-lost" });
    });

    test("a term that another has taken over is not renewed", async () => {
      await using store = await open();
      const old = await epochOf(store);
      await store.acquire(owner("second", 2));
      expect(await store.renew({ epoch: old })).toEqual({ ok: false, error: "ownership-lost" });
      expect(await store.owner()).toMatchObject({ command: "second" });
    });

    test("what was given back is free, and the epoch is not used again", async () => {
      await using store = await open({ lives });
      const first = await epochOf(store);
      await store.release({ epoch: first });
      expect(await store.owner()).toBeUndefined();
      expect(await epochOf(store)).toBeGreaterThan(first);
    });

    test("an owner that was taken for dead cannot give back what is another's now", async () => {
      await using store = await open();
      const old = await epochOf(store);
      await store.acquire(owner("second", 2));
      await store.release({ epoch: old });
      expect(await store.owner()).toEqual({ ...owner("second", 2), lives: false });
    });
  });
}

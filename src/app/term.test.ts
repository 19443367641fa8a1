import { expect, test } from "vitest";
import { owner } from "../../test/rig/builders.ts";
import { ManualClock } from "../../test/rig/clock.ts";
import { seconds } from "../domain/time.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import type { Store } from "../store/store.ts";
import { keepTerm } from "./term.ts";

/** A scheduler that keeps its term of fifteen seconds, on a store that answers as the test says. */
async function kept(renew?: (store: Store) => Store["renew"]) {
  const clock = new ManualClock();
  const store = openMemoryStore({ term: { clock, lasts: seconds(15) } });
  const acquired = await store.acquire(owner("first"));
  if (!acquired.ok) throw new Error("it was free");
  let losses = 0;
  const term = keepTerm({
    store: { renew: renew?.(store) ?? ((term) => store.renew(term)) },
    term: acquired.value,
    clock,
    lost: () => losses++,
  });
  return { clock, store, term, losses: () => losses };
}

test("a term is renewed in time, for as long as its scheduler works", async () => {
  const { clock, store, term, losses } = await kept();
  for (let no = 0; no < 20; no++) await clock.advance(3_000);
  expect([(await store.owner())?.lives, losses()]).toEqual([true, 0]);
  term[Symbol.dispose]();
  await clock.advance(15_000);
  expect([(await store.owner())?.lives, losses(), clock.waiting]).toEqual([false, 0, []]);
});

test("a store that does not answer is asked again, and the term is lost when it is over", async () => {
  let asked = 0;
  const { clock, losses } = await kept(() => async () => {
    asked++;
    throw new Error("no answer");
  });
  await clock.advance(14_000);
  expect([asked > 2, losses()]).toEqual([true, 0]);
  await clock.advance(2_000);
  expect([losses(), clock.waiting]).toEqual([1, []]);
});

test("a store that answers again before the term is over renews it", async () => {
  let asked = 0;
  const { clock, losses } = await kept((store) => async (term) => {
    if (++asked < 3) throw new Error("no answer");
    return store.renew(term);
  });
  await clock.advance(20_000);
  expect([asked > 3, losses()]).toEqual([true, 0]);
});

test("a term that another scheduler has taken over is lost at the next renewal, and told once", async () => {
  const { clock, store, losses } = await kept();
  await store.release({ epoch: 1 });
  await store.acquire(owner("second"));
  await clock.advance(5_000);
  expect([losses(), clock.waiting]).toEqual([1, []]);
});

test("a term without an end is not renewed: the store sees its owner live", () => {
  const clock = new ManualClock();
  const store = { renew: () => expect.unreachable("nothing is to be renewed") };
  using _ = keepTerm({ store, term: { epoch: 1 }, clock, lost: () => expect.unreachable("it is not lost") });
  expect(clock.waiting).toEqual([]);
});

test("a term that is over when the machine wakes up is lost, and the store is not asked for it again", async () => {
  const { clock, losses } = await kept(() => () => expect.unreachable("the term is over"));
  clock.spend(seconds(20));
  await clock.advance(0);
  expect(losses()).toBe(1);
});

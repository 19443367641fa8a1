import { expect, test } from "vitest";
import { owner } from "../../../test/rig/builders.ts";
import { ManualClock, START } from "../../../test/rig/clock.ts";
import { later, seconds } from "../../domain/time.ts";
import { storeConformance } from "../conformance.ts";
import { openMemoryStore } from "./store.ts";

storeConformance("memory store", openMemoryStore);

test("a term that ends by a clock holds until then, longer when it is renewed, and not at all once it is over", async () => {
  const clock = new ManualClock();
  await using store = openMemoryStore({ term: { clock, lasts: seconds(15) } });
  const first = await store.acquire(owner("first"));
  if (!first.ok) throw new Error("it was free");
  expect(first.value).toEqual({ epoch: 1, expires: later(START, seconds(15)) });
  await clock.advance(14_999);
  expect(await store.acquire(owner("second"))).toMatchObject({ ok: false, error: { command: "first", lives: true } });
  const longer = await store.renew(first.value);
  expect(longer).toEqual({ ok: true, value: { epoch: 1, expires: later(clock.now(), seconds(15)) } });
  await clock.advance(15_000);
  expect(await store.owner()).toMatchObject({ command: "first", lives: false });
  expect(await store.renew(first.value)).toEqual({ ok: false, error: "ownership-lost" });
  expect(await store.acquire(owner("second"))).toMatchObject({ ok: true, value: { epoch: 2 } });
});

import { expect, test } from "vitest";
import { ManualClock, START } from "../../../test/rig/clock.ts";
import { later, millis } from "../../domain/time.ts";
import { changes } from "./watch.ts";

test("a caller that was busy with a change is left alone for as many times as long as it asks for", async () => {
  const clock = new ManualClock();
  const over = new AbortController();
  const told: number[] = [];
  let done = (): void => {};
  const watching = (async () => {
    for await (const _ of changes([], { signal: over.signal, pollEvery: millis(1), rest: 4, clock })) {
      told.push(clock.now() - START);
      await new Promise<void>((resolve) => {
        done = resolve;
      });
    }
  })();
  await clock.advance(100);
  done();
  await clock.settle();
  expect(clock.waiting).toEqual([later(START, millis(500))]);
  await clock.advance(400);
  await clock.advance(1);
  expect(told).toEqual([0, 501]);
  over.abort();
  done();
  await watching;
});

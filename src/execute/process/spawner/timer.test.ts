import { afterEach, expect, test, vi } from "vitest";
import { after } from "./timer.ts";

afterEach(() => vi.useRealTimers());

const DAY = 86_400_000;

test("what is months away is not now", () => {
  vi.useFakeTimers();
  let rung = 0;
  after(60 * DAY, () => rung++);
  vi.advanceTimersByTime(60 * DAY - 1);
  expect(rung).toBe(0);
  vi.advanceTimersByTime(1);
  expect(rung).toBe(1);
});

test("it can be called off at any time", () => {
  vi.useFakeTimers();
  let rung = 0;
  const timer = after(60 * DAY, () => rung++);
  vi.advanceTimersByTime(30 * DAY);
  timer.cancel();
  vi.advanceTimersByTime(60 * DAY);
  expect(rung).toBe(0);
});

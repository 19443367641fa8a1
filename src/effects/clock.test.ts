import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { instant, later, millis, minutes, seconds } from "../domain/time.ts";
import { sleep, systemClock } from "./clock.ts";

const DAY = 86_400_000;
const BEGIN = new Date("2026-03-01T12:00:00Z").getTime();

/** The platform's clock and timers are controlled by the test; the code under test is the real clock. */
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "hrtime", "setTimeout", "clearTimeout", "setImmediate", "clearImmediate"] });
  vi.setSystemTime(BEGIN);
});
afterEach(() => {
  vi.useRealTimers();
});

describe("the system's clock", () => {
  test("tells the machine's time", () => {
    const clock = systemClock();
    expect(clock.now()).toBe(BEGIN);
    vi.advanceTimersByTime(1_500);
    expect(clock.now()).toBe(BEGIN + 1_500);
  });

  test("follows the machine's clock when that is set forward", () => {
    const clock = systemClock();
    vi.setSystemTime(BEGIN + DAY);
    expect(clock.now()).toBe(BEGIN + DAY);
  });

  test("does not go back when the machine's clock is set back, and does not stand still either", () => {
    const clock = systemClock();
    clock.now();
    vi.setSystemTime(BEGIN - DAY);
    expect(clock.now()).toBe(BEGIN);
    vi.advanceTimersByTime(minutes(10));
    expect(clock.now()).toBe(BEGIN + minutes(10));
  });

  test("knows how far it was set forward, and that no time has passed by that", () => {
    const clock = systemClock();
    vi.advanceTimersByTime(1_500);
    expect([clock.now(), clock.leapt()]).toEqual([BEGIN + 1_500, 0]);
    vi.setSystemTime(BEGIN + DAY);
    vi.advanceTimersByTime(minutes(10));
    expect([clock.now(), clock.leapt()]).toEqual([BEGIN + DAY + minutes(10), DAY - 1_500]);
    vi.setSystemTime(BEGIN);
    vi.advanceTimersByTime(minutes(10));
    expect([clock.now(), clock.leapt()]).toEqual([BEGIN + DAY + minutes(20), DAY - 1_500]);
  });

  test("is a whole number of milliseconds", () => {
    vi.advanceTimersByTime(0.4);
    expect(Number.isInteger(systemClock().now())).toBe(true);
  });
});

describe("an alarm", () => {
  test("rings once, at its time and not before", () => {
    const clock = systemClock();
    const ring = vi.fn();
    clock.at(later(clock.now(), seconds(5)), ring);
    vi.advanceTimersByTime(4_999);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(ring).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(DAY);
    expect(ring).toHaveBeenCalledTimes(1);
  });

  test("whose time has passed rings as soon as it can", () => {
    const ring = vi.fn();
    systemClock().at(instant(BEGIN - DAY), ring);
    vi.advanceTimersByTime(1);
    expect(ring).toHaveBeenCalledTimes(1);
  });

  test("may be further away than the platform's timers reach", () => {
    const clock = systemClock();
    const ring = vi.fn();
    clock.at(later(clock.now(), millis(60 * DAY)), ring);
    vi.advanceTimersByTime(60 * DAY - 1);
    expect(ring).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    expect(ring).toHaveBeenCalledTimes(1);
  });

  test("rings in time although the machine's clock was set back meanwhile", () => {
    const clock = systemClock();
    const ring = vi.fn();
    clock.at(later(clock.now(), minutes(1)), ring);
    vi.setSystemTime(BEGIN - DAY);
    vi.advanceTimersByTime(minutes(1));
    expect(ring).toHaveBeenCalledTimes(1);
  });

  test.each([1, 60])("that was cancelled does not ring, however long it would have been (%s days)", (days) => {
    const clock = systemClock();
    const ring = vi.fn();
    const timer = clock.at(later(clock.now(), millis(days * DAY)), ring);
    vi.advanceTimersByTime(days * DAY - 1);
    timer.cancel();
    timer.cancel();
    vi.advanceTimersByTime(DAY);
    expect(ring).not.toHaveBeenCalled();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test("soon is after what is already waiting to run, and not now", async () => {
  const order: string[] = [];
  systemClock().soon(() => order.push("soon"));
  await Promise.resolve().then(() => order.push("promise"));
  order.push("now");
  vi.advanceTimersByTime(0);
  expect(order).toEqual(["promise", "now", "soon"]);
});

test("a sleep is over after its time", async () => {
  const clock = systemClock();
  let over = false;
  const slept = sleep(clock, seconds(1)).then(() => {
    over = true;
  });
  await vi.advanceTimersByTimeAsync(999);
  expect(over).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  await slept;
  expect(over).toBe(true);
});

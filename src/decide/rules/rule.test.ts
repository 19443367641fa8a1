import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exit, success, task, taskIn } from "../../../test/rig/builders.ts";
import { START } from "../../../test/rig/clock.ts";
import { always } from "../../../test/rig/property.ts";
import { workerId } from "../../domain/ids.ts";
import { FAILURE_KINDS, type Failure, type FailureKind, type Outcome } from "../../domain/outcome.ts";
import { RETRY_DEFAULT } from "../../domain/spec.ts";
import type { Running, StopReason } from "../../domain/task.ts";
import { instant, later, millis, seconds } from "../../domain/time.ts";
import { afterLoss, backoff, jitterOf, rule } from "./rule.ts";

const NOW = later(START, seconds(5));
const durationMs = millis(5);
const MIDDLE = 0.5;

const running = (stopping?: StopReason): Running => ({
  state: "running",
  since: START,
  lease: { worker: workerId("w1"), fence: 1, deadline: later(START, seconds(30)), tokenHash: "h" },
  ...(stopping && { stopping }),
});

/** Rules on a task that has had `failures` of its `attempts`. */
function ruleOn(outcome: Outcome, { attempts = 3, failures = 0, on = [] as number[], stopping }: Case = {}) {
  const spec = task("a", { retry: { attempts, on } });
  return rule(taskIn(running(stopping), spec, { failures }), outcome, NOW, MIDDLE);
}
interface Case {
  readonly attempts?: number;
  readonly failures?: number;
  readonly on?: number[];
  readonly stopping?: StopReason;
}

const EXAMPLES: Readonly<Record<FailureKind, Failure>> = {
  exit: { kind: "exit", code: 1, durationMs },
  signal: { kind: "signal", signal: "SIGKILL", durationMs },
  timeout: { kind: "timeout", limit: "hard", durationMs },
  lost: { kind: "lost", durationMs },
  spawn: { kind: "spawn", message: "no such file", durationMs },
  "rate-limit": { kind: "rate-limit", durationMs },
  quota: { kind: "quota", durationMs },
  auth: { kind: "auth", durationMs },
  refused: { kind: "refused", durationMs },
  shutdown: { kind: "shutdown", durationMs },
  cancelled: { kind: "cancelled", durationMs },
  verify: { kind: "verify", code: 1, durationMs },
  budget: { kind: "budget", durationMs },
  shortage: { kind: "shortage", durationMs },
};

/** What follows while there are tries left, and when there are none. */
const TABLE: Readonly<Record<FailureKind, readonly [object, object]>> = {
  exit: [
    { kind: "retried", costs: true },
    { kind: "failed", reason: "abandoned" },
  ],
  signal: [
    { kind: "retried", costs: true },
    { kind: "failed", reason: "abandoned" },
  ],
  timeout: [
    { kind: "retried", costs: true },
    { kind: "failed", reason: "abandoned" },
  ],
  verify: [
    { kind: "retried", costs: true },
    { kind: "failed", reason: "abandoned" },
  ],
  refused: [
    { kind: "retried", costs: true },
    { kind: "failed", reason: "abandoned" },
  ],
  spawn: [
    { kind: "failed", reason: "permanent" },
    { kind: "failed", reason: "permanent" },
  ],
  cancelled: [{ kind: "cancelled" }, { kind: "cancelled" }],
  lost: [
    { kind: "expired", worker: "w1" },
    { kind: "expired", worker: "w1" },
  ],
  shutdown: [
    { kind: "retried", costs: false },
    { kind: "retried", costs: false },
  ],
  "rate-limit": [
    { kind: "retried", costs: false },
    { kind: "retried", costs: false },
  ],
  shortage: [
    { kind: "retried", costs: false },
    { kind: "retried", costs: false },
  ],
  quota: [
    { kind: "parked", reason: "attention" },
    { kind: "parked", reason: "attention" },
  ],
  auth: [
    { kind: "parked", reason: "attention" },
    { kind: "parked", reason: "attention" },
  ],
  budget: [
    { kind: "parked", reason: "attention" },
    { kind: "parked", reason: "attention" },
  ],
};

describe("what follows from how an attempt ended", () => {
  test("a success is a success", () => {
    expect(ruleOn(success)).toEqual({ kind: "succeeded", outcome: success });
  });

  test.each(FAILURE_KINDS)("%s, while there are tries left and when there are none", (kind) => {
    const outcome = EXAMPLES[kind];
    const [more, last] = TABLE[kind];
    expect(ruleOn(outcome, { attempts: 3, failures: 1 })).toMatchObject({ outcome, ...more });
    expect(ruleOn(outcome, { attempts: 3, failures: 2 })).toMatchObject({ outcome, ...last });
  });

  test("tries are counted in all, the first included", () => {
    expect(ruleOn(exit(1), { attempts: 1 })).toMatchObject({ kind: "failed", reason: "abandoned" });
    expect(ruleOn(exit(1), { attempts: 2 })).toMatchObject({ kind: "retried" });
  });

  test("an exit code that is not worth another try is final, and only exit codes are asked", () => {
    expect(ruleOn(exit(1), { on: [75] })).toMatchObject({ kind: "failed", reason: "permanent" });
    expect(ruleOn(exit(75), { on: [75] })).toMatchObject({ kind: "retried" });
    expect(ruleOn(EXAMPLES.signal, { on: [75] })).toMatchObject({ kind: "retried" });
  });

  test("the person who asked for a cancellation is named", () => {
    const asked = { by: "mo", why: "enough" };
    const stopping: StopReason = { kind: "cancelled", asked };
    expect(ruleOn(EXAMPLES.cancelled, { stopping })).toEqual({ kind: "cancelled", asked, outcome: EXAMPLES.cancelled });
    expect(ruleOn(EXAMPLES.cancelled)).toMatchObject({ kind: "cancelled", asked: { by: "the worker" } });
  });

  test.each(FAILURE_KINDS)("what was asked to be cancelled is, although it ended as %s", (kind) => {
    const stopping: StopReason = { kind: "cancelled", asked: { by: "mo" } };
    expect(ruleOn(EXAMPLES[kind], { stopping })).toEqual({
      kind: "cancelled",
      asked: { by: "mo" },
      outcome: EXAMPLES[kind],
    });
  });

  test("work that was done before it could be stopped is cancelled all the same, whichever worker did it", () => {
    expect(ruleOn(success, { stopping: { kind: "cancelled", asked: { by: "mo" } } })).toMatchObject({
      kind: "cancelled",
      asked: { by: "mo" },
    });
  });
});

describe("how long it waits", () => {
  test("a rate limit waits as long as the provider said, and a moment when it said nothing", () => {
    const told = { ...EXAMPLES["rate-limit"], resetMs: seconds(90) } as Failure;
    expect(ruleOn(told)).toMatchObject({ notBefore: later(NOW, seconds(90)) });
    expect(ruleOn(EXAMPLES["rate-limit"])).toMatchObject({ notBefore: later(NOW, millis(500)) });
  });

  test("what was stopped by us does not wait at all", () => {
    expect(ruleOn(EXAMPLES.shutdown)).toMatchObject({ notBefore: NOW });
  });

  test("with the defaults: up to 100 ms, then up to 200 ms, never more than 30 s", () => {
    const longest = (failures: number): number => backoff(RETRY_DEFAULT, failures, 1 - Number.EPSILON);
    expect([1, 2, 3, 9, 10, 100, 10_000].map(longest)).toEqual([100, 200, 400, 25_600, 30_000, 30_000, 30_000]);
    expect(backoff(RETRY_DEFAULT, 1, 0)).toBe(0);
  });

  test("whatever the policy, it is a whole number of milliseconds between nothing and the doubled delay", async () => {
    const policy = fc.record({
      backoff: fc.nat(100_000).map(millis),
      factor: fc.double({ min: 1, max: 10, noNaN: true }),
      max: fc.nat(100_000).map(millis),
    });
    const jitters = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    await always(
      1_000,
      fc.property(policy, fc.integer({ min: 1, max: 5_000 }), jitters, (some, failures, jitter) => {
        const wait = backoff({ ...RETRY_DEFAULT, ...some }, failures, jitter);
        expect(Number.isSafeInteger(wait)).toBe(true);
        expect(wait).toBeGreaterThanOrEqual(0);
        expect(wait).toBeLessThanOrEqual(some.max);
        if (failures < 10) expect(wait).toBeLessThanOrEqual(some.backoff * some.factor ** (failures - 1));
      }),
    );
  });

  test("the spread is the same whenever the same attempt is judged again, and even over many", () => {
    const spread = Array.from({ length: 10_000 }, (_, at) => jitterOf(17, at % 100, Math.floor(at / 100)));
    expect(jitterOf(17, 3, 2)).toBe(spread[203]);
    expect(new Set(spread).size).toBeGreaterThan(9_900);
    for (let tenth = 0; tenth < 10; tenth++) {
      const share = spread.filter((jitter) => Math.floor(jitter * 10) === tenth).length;
      expect(share).toBeGreaterThan(850);
      expect(share).toBeLessThan(1_150);
    }
  });

  test("another seed is another spread, and none leaves [0, 1)", async () => {
    expect(jitterOf(1, 0, 1)).not.toBe(jitterOf(2, 0, 1));
    await always(
      1_000,
      fc.property(fc.integer(), fc.nat(), fc.nat(), (seed, no, attempt) => {
        const jitter = jitterOf(seed, no, attempt);
        expect(jitter >= 0 && jitter < 1).toBe(true);
      }),
    );
  });

  test("a lost task waits for the old deadline, so that the old holder has stopped itself", () => {
    expect(afterLoss(instant(10), instant(5))).toBe(10);
    expect(afterLoss(instant(5), instant(10))).toBe(10);
  });
});

import { describe, expect, test } from "vitest";
import { task, taskIn } from "../../../test/rig/builders.ts";
import { START } from "../../../test/rig/clock.ts";
import { workerId } from "../../domain/ids.ts";
import type { Lease } from "../../domain/lease.ts";
import type { Status, StopReason } from "../../domain/task.ts";
import { instant, later, millis, seconds } from "../../domain/time.ts";
import { nextDeadline, overdue } from "./timeouts.ts";

const lease: Lease = { worker: workerId("w"), fence: 1, deadline: later(START, seconds(30)), tokenHash: "h" };
const claimed: Status = { state: "claimed", lease, since: START };
const running = (stopping?: StopReason): Status => ({
  state: "running",
  lease,
  since: START,
  ...(stopping && { stopping }),
});
const at = (count: number) => later(START, seconds(count));
const plan = task("a", { timeout: { soft: seconds(10), hard: seconds(20) }, progress: seconds(5) });
const noProgress = task("a", { timeout: { soft: seconds(10), hard: seconds(20) } });
const soft: StopReason = { kind: "timeout", limit: "soft" };
const hard: StopReason = { kind: "timeout", limit: "hard" };
const signs = (progressAt = START, silenceReported = false, leapt = millis(0)) => ({
  progressAt,
  silenceReported,
  leaptSinceBegun: leapt,
  leaptSinceProgress: leapt,
});

describe("the next moment to look at a task", () => {
  test("is one past its lease while it has not started", () => {
    expect(nextDeadline(taskIn(claimed, plan), undefined)).toBe(lease.deadline + 1);
  });
  test("is the soft limit, then the hard one, then its lease", () => {
    expect(nextDeadline(taskIn(running(), noProgress), signs())).toBe(at(10));
    expect(nextDeadline(taskIn(running(soft), noProgress), signs())).toBe(at(20));
    expect(nextDeadline(taskIn(running(hard), noProgress), signs())).toBe(lease.deadline + 1);
  });
  test("is when it has been silent for too long, once", () => {
    expect(nextDeadline(taskIn(running(), plan), signs(at(2)))).toBe(at(7));
    expect(nextDeadline(taskIn(running(), plan), signs(at(2), true))).toBe(at(10));
    expect(nextDeadline(taskIn(running(soft), plan), signs(at(2)))).toBe(at(20));
  });
  test("is as much later as the clock was set forward meanwhile", () => {
    const leapt = seconds(3_600);
    const lasting = { ...running(), lease: { ...lease, deadline: at(9_999) } };
    const asked = { ...lasting, stopping: soft };
    expect(nextDeadline(taskIn(lasting, noProgress), signs(START, false, leapt))).toBe(at(3_610));
    expect(nextDeadline(taskIn(asked, noProgress), signs(START, false, leapt))).toBe(at(3_620));
    expect(nextDeadline(taskIn(lasting, plan), signs(at(2), false, leapt))).toBe(at(3_607));
  });
  test("is none when no worker holds it", () => {
    expect(nextDeadline(taskIn({ state: "ready", since: START, notBefore: START }), undefined)).toBeUndefined();
  });
  test("leaves a soft limit out that is not below the hard one", () => {
    const odd = task("a", { timeout: { soft: seconds(20), hard: seconds(20) } });
    expect(overdue(taskIn(running(), odd), signs(), at(20))).toEqual({ kind: "stop", reason: hard });
  });
});

describe("what a task's time has come for", () => {
  test.each([
    ["nothing, just before the soft limit", running(), at(9.999), undefined],
    ["to be asked to end, at the soft limit", running(), at(10), { kind: "stop", reason: soft }],
    ["nothing more, just before the hard limit", running(soft), at(19.999), undefined],
    ["to be killed, at the hard limit", running(soft), at(20), { kind: "stop", reason: hard }],
    ["nothing more, after that", running(hard), at(25), undefined],
    ["nothing, at its deadline", running(hard), at(30), undefined],
    ["to be lost, one past its deadline", running(hard), instant(at(30) + 1), { kind: "expired" }],
    ["to be lost, though it never started", claimed, instant(at(30) + 1), { kind: "expired" }],
    ["nothing, claimed for longer than it may run", claimed, at(29), undefined],
    [
      "nothing, when a person has already cancelled it",
      running({ kind: "cancelled", asked: { by: "mo" } }),
      at(29),
      undefined,
    ],
    ["nothing, when it is being shut down", running({ kind: "shutdown" }), at(29), undefined],
  ] as const)("%s", (_, status, now, expected) => {
    expect(overdue(taskIn(status, noProgress), signs(), now)).toEqual(expected);
  });

  test("to be reported as silent, once", () => {
    expect(overdue(taskIn(running(), plan), signs(at(2)), at(6.999))).toBeUndefined();
    expect(overdue(taskIn(running(), plan), signs(at(2)), at(7))).toEqual({ kind: "silent", for: millis(5_000) });
    expect(overdue(taskIn(running(), plan), signs(at(2), true), at(9))).toBeUndefined();
  });

  test("whenever the next moment comes there is something to do, and before it there is not", () => {
    for (const status of [claimed, running(), running(soft), running(hard)]) {
      for (const spec of [plan, noProgress]) {
        const next = nextDeadline(taskIn(status, spec), signs());
        expect(overdue(taskIn(status, spec), signs(), next as never), `${status.state} at ${next}`).toBeDefined();
        expect(overdue(taskIn(status, spec), signs(), instant((next as number) - 1))).toBeUndefined();
      }
    }
  });
});

import { describe, expect, test } from "vitest";
import { exit, no, run as runOf, success, task } from "../../test/rig/builders.ts";
import { START } from "../../test/rig/clock.ts";
import type { TaskSpec } from "../domain/spec.ts";
import type { Status, Task } from "../domain/task.ts";
import { toSkip } from "./rules/cascade.ts";
import { judgeRun } from "./rules/finish.ts";

const failed: Status = { state: "failed", at: START, outcome: exit(1), reason: "abandoned" };
const cancelled: Status = { state: "cancelled", at: START };
const skipped: Status = { state: "skipped", at: START, because: no(9) };
const succeeded: Status = { state: "succeeded", at: START, outcome: success };
const parked: Status = { state: "parked", at: START, reason: "attention" };
const ready: Status = { state: "ready", since: START, notBefore: START };

/** A run whose first tasks are in these states; the rest are blocked. */
function runIn(specs: readonly TaskSpec[], ...states: readonly Status[]) {
  const run = runOf(specs);
  states.forEach((status, at) => {
    const each = run.tasks[at] as Task;
    run.counts[each.status.state]--;
    run.counts[status.state]++;
    each.status = status;
  });
  return run;
}

describe("what an end does to others", () => {
  const specs = [
    task("a"),
    task("needs", { needs: ["a"] }),
    task("after", { after: ["a"] }),
    task("regardless", { needs: ["a"], onFailure: "continue" }),
    task("further", { needs: ["needs"] }),
  ];

  test.each([
    ["failed", failed],
    ["cancelled", cancelled],
    ["skipped", skipped],
  ])("%s: those that needed it are skipped, one step at a time", (_, status) => {
    const run = runIn(specs, status);
    expect(toSkip(run, run.tasks[0] as Task)).toEqual([1]);
  });

  test.each([
    ["succeeded", succeeded],
    ["parked", parked],
    ["ready", ready],
  ])("%s: no task is", (_, status) => {
    const run = runIn(specs, status);
    expect(toSkip(run, run.tasks[0] as Task)).toEqual([]);
  });

  test("those that have ended already, or are out, are left alone", () => {
    const run = runIn(specs, failed, cancelled);
    expect(toSkip(run, run.tasks[0] as Task)).toEqual([]);
  });

  test("parked work that can come to nothing any more is skipped too", () => {
    const run = runIn(specs, failed, parked);
    expect(toSkip(run, run.tasks[0] as Task)).toEqual([1]);
  });
});

describe("a run", () => {
  const two = [task("a"), task("b")];
  const never = (): boolean => false;
  const always = (): boolean => true;
  const unasked = (): boolean => {
    throw new Error("the judge must not ask");
  };

  test.each([
    ["succeeded when everything has", [succeeded, succeeded], "succeeded"],
    ["failed when something has", [succeeded, failed], "failed"],
    ["failed even when the rest was cancelled", [failed, cancelled], "failed"],
    ["was cancelled when something was", [succeeded, cancelled], "cancelled"],
  ] as const)("has %s", (_, states, outcome) => {
    expect(judgeRun(runIn(two, ...states), unasked)).toEqual({ kind: "finished", outcome });
  });

  test("was cancelled when a person asked for it, although everything had been done by then", () => {
    const run = runIn(two, succeeded, succeeded);
    run.cancelling = true;
    expect(judgeRun(run, unasked)).toEqual({ kind: "finished", outcome: "cancelled" });
  });

  test("goes on while a worker works", () => {
    const run = runIn(two);
    run.counts.blocked--;
    run.counts.running++;
    expect(judgeRun(run, unasked)).toEqual({ kind: "going" });
  });

  test("goes on while something that is ready can move", () => {
    expect(judgeRun(runIn(two, ready), always)).toEqual({ kind: "going" });
    expect(judgeRun(runIn(two, ready), never)).toEqual({ kind: "stalled", remaining: 2, outcome: "deadlock" });
  });

  test("waits for a person when a task is parked, or only its gate holds it back, and is no deadlock", () => {
    const waiting = (remaining: number) => ({ kind: "stalled", remaining, outcome: "waiting" });
    expect(judgeRun(runIn(two, parked), unasked)).toEqual(waiting(2));
    expect(judgeRun(runIn(two, succeeded, parked), unasked)).toEqual(waiting(1));
    const gated = runIn([task("a"), task("b", { gate: "Ship it?" })], ready);
    expect(judgeRun(gated, never)).toEqual(waiting(2));
    (gated.tasks[1] as Task).approved = true;
    expect(judgeRun(gated, never)).toMatchObject({ outcome: "deadlock" });
  });

  test("does not wait for a person at a gate whose task needs what cannot start", () => {
    const run = runIn([task("a"), task("b", { gate: "Ship it?", needs: ["a"] })], ready);
    expect(judgeRun(run, never)).toMatchObject({ kind: "stalled", outcome: "deadlock" });
  });
});

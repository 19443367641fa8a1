import { describe, expect, test } from "vitest";
import { START } from "../../test/rig/clock.ts";
import { USER_ERRORS, UserError } from "./errors.ts";
import { ID_LENGTH_MAX, isId, workerId } from "./ids.ts";
import { isExpired, type Lease, renewed } from "./lease.ts";
import { describeOutcome, type Outcome } from "./outcome.ts";
import { isTerminal, TASK_STATES, TERMINAL_STATES } from "./task.ts";
import { instant, later, millis, seconds } from "./time.ts";

describe("ids", () => {
  test.each(["a", "build", "a.b-c_d", "0", "_x", "x".repeat(ID_LENGTH_MAX)])("%s is one", (raw) => {
    expect(isId(raw)).toBe(true);
  });
  test.each([
    "",
    ".",
    "..",
    ".hidden",
    "-rf",
    "a/b",
    "a b",
    "a\nb",
    "a\0",
    "ä",
    "x".repeat(ID_LENGTH_MAX + 1),
    "__proto__",
    "constructor",
    "prototype",
  ])("%j is none: it would be misread as a path, an option or a word of the language", (raw) => {
    expect(isId(raw)).toBe(false);
  });
});

describe("a lease", () => {
  const lease: Lease = { worker: workerId("w"), fence: 1, deadline: later(START, seconds(30)), tokenHash: "h" };

  test("holds up to and including its deadline", () => {
    expect(isExpired(lease, lease.deadline)).toBe(false);
    expect(isExpired(lease, instant(lease.deadline + 1))).toBe(true);
  });
  test("that is renewed lasts a whole term from now, and never less than it did", () => {
    expect(renewed(lease, later(START, seconds(5)), seconds(30)).deadline).toBe(START + 35_000);
    expect(renewed(lease, START, seconds(1)).deadline).toBe(lease.deadline);
  });
});

test("four states are ends, and no others", () => {
  expect(TASK_STATES.filter(isTerminal).sort()).toEqual([...TERMINAL_STATES].sort());
});

describe("how an attempt ended, in a phrase", () => {
  const durationMs = millis(1);
  test.each<[Outcome, string]>([
    [{ kind: "success", durationMs }, "succeeded"],
    [{ kind: "exit", code: 2, durationMs }, "exit code 2"],
    [{ kind: "signal", signal: "SIGKILL", durationMs }, "killed by SIGKILL"],
    [{ kind: "signal", signal: "SIGKILL", limit: "memory", durationMs }, "went over its memory limit"],
    [{ kind: "timeout", limit: "soft", durationMs }, "soft time-out"],
    [{ kind: "spawn", message: "ENOENT", durationMs }, "could not start: ENOENT"],
    [{ kind: "rate-limit", durationMs }, "rate limited"],
    [{ kind: "verify", code: 1, durationMs }, "verify exited with 1"],
    [{ kind: "verify", code: null, durationMs }, "verify was stopped"],
    [{ kind: "lost", durationMs }, "lost"],
    [{ kind: "auth", message: "log in", durationMs }, "auth: log in"],
  ])("%o", (outcome, phrase) => {
    expect(describeOutcome(outcome)).toBe(phrase);
  });
});

describe("an error that a person can put right", () => {
  test("has its exit code and its hint from the table", () => {
    const error = new UserError("STATE_BUSY", "in use");
    expect(error).toMatchObject({
      code: "STATE_BUSY",
      message: "in use",
      exitCode: 2,
      hint: USER_ERRORS.STATE_BUSY.hint,
    });
  });
  test("may have a better hint, and keeps what caused it", () => {
    const cause = new Error("EACCES");
    expect(new UserError("STATE_UNUSABLE", "no", { hint: "chmod it", cause })).toMatchObject({
      hint: "chmod it",
      cause,
    });
  });
  test.each(Object.entries(USER_ERRORS))("%s says what to do, in a sentence", (_, { hint }) => {
    expect(hint).toMatch(/^[A-Z`].*\.$/);
  });
});

import { describe, expect, test } from "vitest";
import { UserError } from "./errors.ts";
import { toldOf } from "./told.ts";

const disk = new UserError("STORE_FAILED", "disk I/O error");
const busy = new UserError("STATE_BUSY", "it is in use");
const fault = new Error("a fault of ours");
const system = (code: string, path = "/x"): Error =>
  Object.assign(new Error(`${code}: it failed, open '${path}'`), { code, syscall: "open", path });

describe("of several errors a person is told", () => {
  test.each([
    ["the only one", fault, fault],
    ["what was suppressed, because it happened first", new SuppressedError(busy, disk), disk],
    ["what a user can put right, although it came later", new SuppressedError(disk, fault), disk],
    [
      "the innermost of many",
      new SuppressedError(fault, new SuppressedError(busy, new SuppressedError(fault, disk))),
      disk,
    ],
    ["one of those that happened together", new AggregateError([fault, disk, busy]), disk],
    [
      "what lies in both",
      new SuppressedError(fault, new AggregateError([fault, new SuppressedError(busy, disk)])),
      disk,
    ],
    ["the cause of a fault", new Error("it ended", { cause: disk }), disk],
    ["the first fault, where there is nothing else", new SuppressedError(new Error("later"), fault), fault],
    ["what is no error at all", "a word", "a word"],
  ])("%s", (_, thrown, told) => {
    expect(toldOf(thrown)).toBe(told);
  });

  test.each([
    ["EMFILE", "MACHINE_SHORT"],
    ["ENFILE", "MACHINE_SHORT"],
    ["EAGAIN", "MACHINE_SHORT"],
    ["ENOMEM", "MACHINE_SHORT"],
    ["EIO", "STORE_FAILED"],
    ["ENOSPC", "STORE_FAILED"],
    ["EROFS", "STORE_FAILED"],
    ["ENOENT", "STATE_UNUSABLE"],
  ])("that the system refused something: %s is %s, and names the call and the file", (code, told) => {
    expect(toldOf(new SuppressedError(fault, system(code)))).toMatchObject({
      code: told,
      exitCode: 2,
      message: `${code}: it failed, open '/x'`,
    });
  });
});

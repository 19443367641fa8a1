import { userInfo } from "node:os";
import { expect, test } from "vitest";
import { userName } from "./user.ts";

test.each([
  [{ USER: "mo", LOGNAME: "other" }, "mo"],
  [{ LOGNAME: "mo" }, "mo"],
  [{ USER: "m\u001b[31mo\u0007\n" }, "m[31mo"],
  [{ USER: "x".repeat(500) }, "x".repeat(128)],
  [{ USER: "\n" }, userInfo().username],
  [{}, userInfo().username],
])("the caller's name is taken from %j as %j, which every daemon takes", (env, name) => {
  expect(userName(env)).toBe(name);
});

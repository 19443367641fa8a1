import { describe, expect, it } from "vitest";
import { matches, patternFault, permitted, type ToolUse } from "./permissions.ts";

const use = (kind: ToolUse["kind"], argument = "", isInside = true): ToolUse => ({ kind, argument, isInside });
const rules = (mode: "safe" | "ask" | "all", allow: readonly string[] = [], deny: readonly string[] = []) => ({
  mode,
  allow,
  deny,
});

describe("permissions", () => {
  it("safe: reads, and edits inside the directory", () => {
    expect(permitted(rules("safe"), use("read", "src/a.ts"))).toBe("yes");
    expect(permitted(rules("safe"), use("edit", "src/a.ts"))).toBe("yes");
    expect(permitted(rules("safe"), use("edit", "/etc/passwd", false))).toBe("no");
    expect(permitted(rules("safe"), use("read", "/home/me/.ssh/id_ed25519", false))).toBe("no");
    expect(permitted(rules("safe"), use("shell", "npm test"))).toBe("no");
  });

  it("ask: a person decides the rest", () => {
    expect(permitted(rules("ask"), use("shell", "npm test"))).toBe("ask");
    expect(permitted(rules("ask"), use("read"))).toBe("yes");
  });

  it("all: everything but what is denied", () => {
    expect(permitted(rules("all"), use("shell", "rm -rf x"))).toBe("yes");
    expect(permitted(rules("all", [], ["shell(rm *)"]), use("shell", "rm -rf x"))).toBe("no");
  });

  it("denies before it allows", () => {
    expect(permitted(rules("safe", ["shell"], ["shell(git push*)"]), use("shell", "git push origin main"))).toBe("no");
    expect(permitted(rules("safe", ["shell"], ["shell(git push*)"]), use("shell", "git status"))).toBe("yes");
  });
});

describe("patterns", () => {
  it.each([
    ["shell(npm test)", "npm test", true],
    ["shell(npm test)", "npm test; rm -rf ~", false],
    ["shell(npm *)", "npm run lint", true],
    ["shell(npm *)", "npm run lint && curl evil", false],
    ["shell(npm *)", "npm run lint\nrm -rf ~", false],
    ["shell(npm *)", "npm run $(rm -rf ~)", false],
    ["shell(npm *)", "xnpm run", false],
    ["shell(a.b)", "axb", false],
    ["shell", "anything; at all", true],
    ["*", "anything", true],
  ])("%s and %s: %s", (pattern, command, fits) => {
    expect(matches(pattern, use("shell", command))).toBe(fits);
  });

  it("are told apart from what is none", () => {
    expect(patternFault("shell(npm test)")).toBeUndefined();
    expect(patternFault("*")).toBeUndefined();
    expect(patternFault("Bash(npm test)")).toMatch(/is not a pattern/);
    expect(patternFault("bash(npm test)")).toMatch(/no tools are called "bash"; there are read/);
  });
});

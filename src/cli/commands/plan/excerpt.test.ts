import { expect, test } from "vitest";
import { paintAll } from "../../../views/text/line.ts";
import { type Diagnostic, diagnosticLines } from "./excerpt.ts";

const problem = (line: number, column: number, rest: Partial<Diagnostic> = {}): Diagnostic => ({
  code: "PLAN_X",
  severity: "error",
  message: "It is wrong.",
  file: "plan.yaml",
  line,
  column,
  hint: "Mend it.",
  ...rest,
});

const shown = (text: string, ...diagnostics: Diagnostic[]): string[] =>
  paintAll(diagnosticLines(diagnostics, text), { color: false, unicode: true });

test("a diagnostic stands with its line, a mark under the place, and what to do", () => {
  expect(shown("tasks:\n  a: { run: x, needs: [b] }\n", problem(2, 24))).toEqual([
    "plan.yaml:2:24: error PLAN_X: It is wrong.",
    "2 |   a: { run: x, needs: [b] }",
    "  |                        ^",
    "  = Mend it.",
    "",
  ]);
});

test("lines are found in any order, and those that are not there are left out", () => {
  const text = "one\ntwo\nthree";
  const marks = shown(text, problem(3, 1), problem(1, 1), problem(9, 1)).filter((line) => line.includes(" | "));
  expect(marks).toEqual(["3 | three", "  | ^", "1 | one", "  | ^"]);
});

test("the mark stands right under wide characters, tabs and what was spelt out", () => {
  expect(shown("\t漢字\u001b[x: 1", problem(1, 6))[2]).toBe(`  | ${" ".repeat(2 + 4 + 4 + 1)}^`);
});

test("of a line without end only the place is shown", () => {
  const [, line = "", mark = ""] = shown(`{"a":"${"x".repeat(1_000_000)}", "b": 1}`, problem(1, 1_000_010));
  expect(line.length).toBeLessThan(130);
  expect(line.slice(mark.indexOf("^"))).toBe('"b": 1}');
});

test("a byte order mark does not move the place", () => {
  expect(shown("\ufefftasks: 1", problem(1, 8))[2]).toBe("  |        ^");
});

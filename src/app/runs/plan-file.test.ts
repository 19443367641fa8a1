import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { freshDir, rota } from "../../../test/rig/cli.ts";
import { checkPlan, loadPlan, planText } from "./plan-file.ts";

const nameless = "/ cannot be read: It is a directory";

test("a directory without a last name is called by its path", async () => {
  await expect(checkPlan("/", { strict: false })).rejects.toThrow(nameless);
  await expect(loadPlan("/", { strict: false })).rejects.toThrow(nameless);
  await expect(planText("/")).rejects.toThrow(nameless);
});

test("the directory one is in is called as it was typed", async () => {
  const cwd = freshDir();
  for (const typed of [".", "./", cwd]) {
    expect((await rota(["check", typed], { cwd })).err).toMatch(`PLAN_UNREADABLE: ${typed} cannot be read: It is a`);
  }
  const { out } = await rota(["check", ".", "--json"], { cwd });
  expect(JSON.parse(out)).toMatchObject({ diagnostics: [{ file: "." }] });
});

describe("a plan on standard input", () => {
  const MAIN = resolve(import.meta.dirname, "../../cli/main.ts");
  const piped = (cwd: string, args: readonly string[], input: string) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], { cwd, input, encoding: "utf8" });
    return { code: status, out: stdout, err: stderr };
  };

  test("is run in the current directory, and goes on when it is piped again", () => {
    const cwd = freshDir();
    const plan = "tasks:\n  a: { run: touch made }\n  b: { run: ls made, needs: [a], gate: Go on? }\n";
    const first = piped(cwd, ["run", "-"], plan);
    expect(first).toMatchObject({ code: 3, out: expect.stringMatching(/ run - --resume +then go on/) });
    expect(first.out).toMatch(/‖ stdin waits for a person/);
    expect(piped(cwd, ["approve", "b"], "").code).toBe(0);
    expect(piped(cwd, ["run", "-", "--resume"], plan)).toMatchObject({ code: 0, err: "" });
  });

  test("is checked, and called stdin", () => {
    const cwd = freshDir();
    expect(piped(cwd, ["check", "-"], "tasks:\n  a: { run: x, needs: [b] }\n").out).toMatch(/stdin:2:24/);
    expect(piped(cwd, ["simulate", "-", "--json"], "tasks: { a: { run: x } }").code).toBe(0);
    writeFileSync(join(cwd, "-"), "tasks: { file: { run: 'true' } }");
    expect(piped(cwd, ["check", "./-"], "").out).toBe("-: 1 task, nothing wrong\n");
  });
});

describe("the directory of a task", () => {
  test("must be there when nothing before the task can make it", async () => {
    const cwd = freshDir();
    mkdirSync(join(cwd, "there"));
    writeFileSync(join(cwd, "file"), "");
    const lines = [
      "a: { run: x, cwd: nope }",
      "b: { run: x, cwd: nope/deep, needs: [a] }",
      "c: { run: x, cwd: there }",
      "d: { run: x, cwd: file }",
      "e: { pool: p, prompt: x, cwd: nope }",
    ];
    writeFileSync(join(cwd, "p.yaml"), `tasks:\n${lines.map((line) => `  ${line}\n`).join("")}`);
    const { code, out } = await rota(["check", "p.yaml", "--json"], { cwd });
    const { diagnostics } = JSON.parse(out) as { diagnostics: { code: string; line: number; column: number }[] };
    expect(code).toBe(0);
    expect(diagnostics.map(({ code: of, line, column }) => [of, line, column])).toEqual([
      ["PLAN_DIRECTORY", 2, 21],
      ["PLAN_DIRECTORY", 5, 21],
    ]);
    expect((await rota(["check", "p.yaml", "--strict"], { cwd })).code).toBe(2);
  });
});

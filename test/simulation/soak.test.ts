/** `rota soak` as it is typed, and its real part against the built program. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { soakForReal } from "../../src/app/soak/real.ts";
import { runProgram } from "../../src/cli/program.ts";
import { seconds } from "../../src/domain/time.ts";
import { fakeTerminal, freshDir } from "../rig/cli.ts";

async function soak(...words: readonly string[]) {
  const terminal = fakeTerminal();
  const cwd = freshDir();
  const code = await runProgram(["soak", ...words], { terminal, env: {}, cwd });
  return { code, cwd, ...terminal.said };
}

test("says what was tried and that nothing is wrong", async () => {
  const { code, out } = await soak("--seeds", "5", "--seed", "11");
  expect(code).toBe(0);
  expect(out).toMatch(/^seeds +5, from 11 on/);
  expect(out).toMatch(/lost +0\ndoubled +0\ndeadlocks +0\n/);
  expect(out).toMatch(/Nothing is wrong\.\n$/);
});

test("writes a report for programs", async () => {
  const { code, out, cwd } = await soak("--seeds", "3", "--json", "--report", "soak.json");
  expect(code).toBe(0);
  const report = JSON.parse(readFileSync(join(cwd, "soak.json"), "utf8"));
  expect(report).toMatchObject({
    ok: true,
    drained: true,
    all_terminal: true,
    lost: 0,
    doubled: 0,
    deadlocks: 0,
    seeds: 3,
  });
  expect(JSON.parse(out)).toEqual(report);
});

test("plays one seed again, whole or in part, and always the same", async () => {
  const [once, again] = [await soak("--replay", "7"), await soak("--replay", "7")];
  expect(again.out).toBe(once.out);
  expect(once.out).toMatch(/scheduler 1 boots[\s\S]*Nothing is wrong\.\ndigest [0-9a-f]{64}\n$/);
  const part = await soak("--replay", "7", "--without", "crash,fail", "--tasks", "1", "--span", "5s");
  expect(part.code).toBe(0);
  expect(part.out.length).toBeLessThan(once.out.length);
});

test("refuses a kind of fault that there is not, and names those there are", async () => {
  const { code, err } = await soak("--replay", "7", "--without", "flood");
  expect(code).toBe(2);
  expect(err).toContain('"flood" is no kind of fault');
  expect(err).toContain("crash, usurp");
});

test("a real daemon that is killed again and again loses nothing and does nothing twice", async () => {
  const report = await soakForReal({
    program: [resolve(import.meta.dirname, "../../bin/rota")],
    env: process.env,
    within: seconds(8),
    seed: Number(process.env["SEED"] ?? 1),
    signal: new AbortController().signal,
  });
  expect(report).toMatchObject({ isDrained: true, broken: [] });
  expect(report.kills).toBeGreaterThan(1);
});

/** The examples of the library as a user runs them: type-checked against the package as it is built, run, and killed. */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { openReader } from "../../src/app/reader.ts";
import { freshDir } from "../rig/cli.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const EXAMPLES = ["library.ts"] as const;

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const node = (program: string, args: readonly string[]): string =>
  execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", program, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });

test.each(EXAMPLES)("the guide shows examples/%s as it is", (name) => {
  const shown = new RegExp(`\`\`\`ts ${name}\n([\\s\\S]*?)\`\`\``).exec(read("docs/guides/library.md"))?.[1];
  expect(shown).toBe(read(`examples/${name}`));
});

test("the examples fit the types of the package as it is built", () => {
  const options = ["--ignoreConfig", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck"];
  const module = ["--target", "esnext", "--module", "nodenext", "--types", "node"];
  const files = EXAMPLES.map((name) => `examples/${name}`);
  const checked = spawnSync(join(ROOT, "node_modules/.bin/tsc"), [...options, ...module, ...files], { cwd: ROOT });
  expect(checked.stdout.toString()).toBe("");
  expect(checked.status).toBe(0);
});

test("the example runs a plan of functions and commands, and has nothing left to do the second time", () => {
  const state = join(freshDir(), "state");
  expect(node(join(ROOT, "examples/library.ts"), [])).toBe("succeeded: 14.0 degrees after 4 attempts\n");
  expect(node(join(ROOT, "examples/library.ts"), [state])).toBe("succeeded: 14.0 degrees after 4 attempts\n");
  expect(node(join(ROOT, "examples/library.ts"), [state])).toBe("succeeded: 14.0 degrees after 4 attempts\n");
});

test("a program that is killed goes on where it was: nothing is done twice, and what functions gave back is there", async () => {
  const state = join(freshDir(), "state");
  const program = fileURLToPath(new URL("../rig/library-main.ts", import.meta.url));
  const first = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", program, state], { stdio: "ignore" });
  const ended = new Promise((done) => first.on("exit", done));
  const begun = async () => expect(await kinds(state)).toContain("noted");
  await vi.waitFor(begun, { timeout: 120_000, interval: 50 });
  first.kill("SIGKILL");
  await ended;
  const second = JSON.parse(node(program, [state, "again"])) as unknown;
  expect(second).toEqual({
    outcome: "succeeded",
    first: { attempts: 1, result: 7 },
    second: { attempts: 2, result: 14 },
  });
  expect((await kinds(state)).filter((kind) => kind === "run_reopened")).toHaveLength(1);
});

async function kinds(state: string): Promise<readonly string[]> {
  await using reader = openReader({ flag: state, env: {}, cwd: ROOT });
  return (await reader.store.events({})).map(({ kind }) => kind);
}

/** The built program starts from what the build has compiled, and without it where that is of no use. */
import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { freshDir } from "../rig/cli.ts";

const ROTA = resolve(import.meta.dirname, "../../bin/rota");
const DIST = resolve(import.meta.dirname, "../../dist");
const CLI = join(DIST, "cli");

/** A setting of the engine that changes nothing here: what was compiled under another is not taken. */
const OTHERWISE = "--stack-trace-limit=11";

describe.each([
  ["as it was built", [], ["look", "start"]],
  ["with other settings", [OTHERWISE], []],
])("%s", (_, flags, taken) => {
  const node = (...args: readonly string[]): string =>
    execFileSync(process.execPath, ["--disable-warning=ExperimentalWarning", ...flags, ...args], { encoding: "utf8" });

  const at = (path: string): string => JSON.stringify(pathToFileURL(join(CLI, path)).href);

  test("it begins with the compile cache, not with modules, where it can", () => {
    const asked = `console.log(typeof (await import(${at("compile-cache.js")})).part("look")?.program.runProgram)`;
    expect(node("--input-type=module", "--eval", asked)).toBe(taken.length > 0 ? "function\n" : "undefined\n");
  });

  test("it takes what it can use", () => {
    const asked = `await import(${at("bundle/start.js")}); console.log([...(await import(${at("compile-cache.js")})).taken.keys()].join())`;
    expect(node("--input-type=module", "--eval", asked)).toBe(`${taken.join()}\n`);
  });

  test("modules and the program's entrance take the same", () => {
    const asked = `const { createRequire } = await import("node:module");
      console.log((await import(${at("compile-cache.js")})).part === createRequire(${at("main.cjs")})("./compile-cache.cjs").part)`;
    expect(node("--input-type=module", "--eval", asked)).toBe("true\n");
  });

  test("it runs a plan", () => {
    const dir = freshDir();
    const plan = join(dir, "plan.json");
    writeFileSync(plan, JSON.stringify({ name: "plan", tasks: { first: { run: ["true"] } } }));
    const said = node(join(CLI, "main.cjs"), "run", plan, "--json", "--state", join(dir, "state"));
    expect(JSON.parse(said)).toMatchObject({ outcome: "succeeded" });
  });
});

/** Leaves what a plan of one process does, and says what of Node the command had loaded when it ended, after the program's name. */
function loadedBy(
  args: readonly string[],
  dir: string,
): { readonly status: number | null; readonly loaded: readonly string[] } {
  const look = join(dir, "look.cjs");
  writeFileSync(look, 'process.on("exit",()=>console.error([process.argv[1],...process.moduleLoadList].join()))');
  const { status, stderr } = spawnSync(ROTA, [...args], {
    cwd: dir,
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: `--require=${look}` },
  });
  return { status, loaded: stderr.split(",") };
}

function planIn(dir: string): string {
  const plan = join(dir, "plan.json");
  writeFileSync(plan, JSON.stringify({ name: "plan", tasks: { first: { run: ["true"] } } }));
  return plan;
}

test("what a plan of processes does not need is not waited for", () => {
  const dir = freshDir();
  const { status, loaded } = loadedBy(["run", planIn(dir), "--json", "--state", "state"], dir);
  // It is no ES module: what finds and links these would be waited for, too.
  expect([status, loaded[0], loaded.includes("NativeModule net")]).toEqual([0, join(CLI, "main.cjs"), true]);
  expect(loaded.filter((name) => /^NativeModule (worker_threads|http)$/.test(name))).toEqual([]);
});

test("what a look does not need is not waited for", () => {
  const dir = freshDir();
  expect(loadedBy(["run", planIn(dir), "--state", "state"], dir).status).toBe(0);
  for (const args of [["--version"], ["status", "--state", "state"]]) {
    const { status, loaded } = loadedBy(args, dir);
    expect([status, loaded[0]]).toEqual([0, join(CLI, "main.cjs")]);
    const spared = /^NativeModule (crypto|child_process|net|worker_threads|http)$/;
    expect(
      loaded.filter((name) => spared.test(name)),
      args.join(" "),
    ).toEqual([]);
  }
});

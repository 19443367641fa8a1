/** The examples of the library as a user runs them: type-checked against the package as it is built, run, and killed. */
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test, vi } from "vitest";
import { openReader } from "../../src/app/look/reader.ts";
import { openScheduler } from "../../src/index.ts";
import { freshDir } from "../rig/cli.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const EXAMPLES = ["library.ts", "wake-scheduler.ts"] as const;

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

/** A place where the package is installed as it was built. */
function installed(): string {
  const place = freshDir();
  mkdirSync(join(place, "node_modules/@types"), { recursive: true });
  symlinkSync(ROOT, join(place, "node_modules/rota"));
  symlinkSync(join(ROOT, "node_modules/@types/node"), join(place, "node_modules/@types/node"));
  symlinkSync(join(ROOT, "node_modules/undici-types"), join(place, "node_modules/undici-types"));
  writeFileSync(join(place, "package.json"), '{"type":"module"}');
  return place;
}

test("all programs of the guide fit the types of the package as it is built", () => {
  const place = installed();
  const blocks = [...read("docs/guides/library.md").matchAll(/```ts (\S+)\n([\s\S]*?)```/g)];
  expect(blocks.map(([, name]) => name)).toEqual([...EXAMPLES, "client.ts"]);
  for (const [, name = "", text = ""] of blocks) writeFileSync(join(place, name), text);
  const options = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--skipLibCheck", "--types", "node"];
  const module = ["--target", "esnext", "--module", "nodenext", ...blocks.map(([, name = ""]) => name)];
  const checked = spawnSync(join(ROOT, "node_modules/.bin/tsc"), [...options, ...module], { cwd: place });
  expect(checked.stdout.toString()).toBe("");
  expect(checked.status).toBe(0);
});

test("the client of the guide speaks to a scheduler within another program", async () => {
  const state = join(freshDir(), "state");
  await using rota = await openScheduler({ state });
  const place = installed();
  const text = /```ts client.ts\n([\s\S]*?)```/.exec(read("docs/guides/library.md"))?.[1] ?? "";
  writeFileSync(join(place, "client.ts"), text);
  const ran = promisify(execFile)(process.execPath, [join(place, "client.ts"), rota.state]);
  expect((await ran).stdout).toBe("succeeded\n");
});

test("the example of a wake scheduler has agents woken, and one joined that can do what no session could", () => {
  expect(node(join(ROOT, "examples/wake-scheduler.ts"), [])).toBe(
    "writer does draft\nreviewer does review\nsucceeded; sessions asked for: 1\n",
  );
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

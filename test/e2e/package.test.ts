/** The package as its users install it: by `npm i -g` and by `npx`, under a Node that it supports and under an older one. */
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import { delimiter, dirname, join, resolve } from "node:path";
import { expect, test } from "vitest";
import { freshDir } from "../rig/cli.ts";
import { openRegistry, packed } from "../rig/registry.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };

interface Said {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

const said = (file: string, args: readonly string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Said> =>
  new Promise((tell) => {
    execFile(file, args, { cwd, env }, (error, out, err) => {
      tell({ code: error === null ? 0 : Number(error.code ?? -1), out, err });
    });
  });

/** A Node below 24 where this machine has one, else the Node of this test, which then gives an old version as its own. */
async function oldNode(path: string): Promise<NodeJS.ProcessEnv> {
  for (const folder of path.split(delimiter)) {
    const { out } = await said(join(folder, "node"), ["--version"], "/", {});
    if (/^v(?:1\d|2[0-3])\./.test(out)) return { PATH: `${folder}${delimiter}${path}` };
  }
  const pretend = 'Object.defineProperty(process.versions, "node", { value: "20.19.0" });';
  return { PATH: path, NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(pretend)}` };
}

test("the package installs and runs; an older Node is told in one line what to do", async () => {
  const dir = freshDir();
  const [prefix, work, archives] = ["prefix", "work", "archives"].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [work, archives]) mkdirSync(folder);
  await using registry = await openRegistry(ROOT, archives);
  const archive = await packed(ROOT, archives);
  const path = process.env["PATH"] ?? "";
  const env = {
    HOME: dir,
    PATH: [dirname(process.execPath), join(prefix, "bin"), path].join(delimiter),
    NO_COLOR: "1",
    npm_config_registry: registry.url,
    npm_config_update_notifier: "false",
  };

  const installed = await said("npm", ["install", "--global", "--prefix", prefix, "--no-audit", archive], work, env);
  expect(installed.code, installed.err).toBe(0);
  const rota = (...args: readonly string[]): Promise<Said> => said(join(prefix, "bin/rota"), args, work, env);
  expect(await rota("--version")).toEqual({ code: 0, out: `${version}\n`, err: "" });
  expect((await rota("init")).out).toContain("Run it with: rota run plan.yaml\n");
  const { code, out } = await rota("run", "plan.yaml", "--json");
  expect([code, JSON.parse(out)]).toEqual([0, expect.objectContaining({ outcome: "succeeded" })]);
  // What agents speak comes with the package: it is loaded by the first call, and by nothing else.
  expect(await rota("mcp", "--help")).toMatchObject({ code: 0 });
  expect((await rota("schema", "output")).code).toBe(0);

  const once = await said("npm", ["exec", "--yes", `--package=${archive}`, "--", "rota", "--version"], work, env);
  expect(once).toMatchObject({ code: 0, out: `${version}\n` });

  const old = await said(join(prefix, "bin/rota"), ["run", "plan.yaml"], work, { ...env, ...(await oldNode(path)) });
  expect(old).toEqual({
    code: 2,
    out: "",
    err: expect.stringMatching(/^NODE_OLD: This is Node [\d.]+, and Rota needs 24 or newer \(Install Node 24 .+\)\n$/),
  });
}, 120_000);

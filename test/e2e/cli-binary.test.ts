/** The program as a process: what scripts and shells see of it. */
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { freshDir, spawnRota } from "../rig/cli.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const { version } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string };

describe("the entry", () => {
  test("says its version, and nothing else", async () => {
    expect(await spawnRota(["--version"])).toEqual({ code: 0, out: `${version}\n`, err: "" });
  });

  test("shows help on standard output when asked, and on standard error when there was nothing to do", async () => {
    const asked = await spawnRota(["help"]);
    expect(asked).toMatchObject({ code: 0, err: "" });
    expect(asked.out).toContain("rota COMMAND");
    expect(await spawnRota([])).toEqual({ code: 2, out: "", err: asked.out });
  });

  test("says what was wrong with the command line in one line", async () => {
    expect(await spawnRota(["statsu"])).toEqual({
      code: 2,
      out: "",
      err: 'USAGE: "statsu" is not a command. Did you mean "status"? (Run `rota help` to see the commands and their options.)\n',
    });
  });

  test("does not let an argument act on the terminal", async () => {
    const { err } = await spawnRota(["\u001b]0;owned\u0007"]);
    expect(err).toMatch(/^USAGE: "\\x1b\]0;owned\\x07" is not a command/);
  });

  test("says nothing about SQLite being experimental", async () => {
    const dir = freshDir();
    await spawnRota(["init"], { cwd: dir });
    expect((await spawnRota(["run", "plan.yaml"], { cwd: dir })).err).not.toContain("ExperimentalWarning");
    expect(await spawnRota(["status", "--json"], { cwd: dir })).toMatchObject({ code: 0, err: "" });
  });

  test("ends quietly when its reader has had enough", async () => {
    const child = spawn(process.execPath, [join(ROOT, "src/cli/main.ts"), "schema"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    let err = "";
    child.stderr.on("data", (chunk: Buffer) => (err += chunk.toString()));
    const code = await new Promise((done) => child.on("close", done));
    expect({ code, err }).toEqual({ code: 0, err: "" });
  });

  const SAYS_HOW =
    /^NODE_OLD: This is Node 22\.1\.0, and Rota needs 24 or newer \(Install Node 24 .*nodejs\.org.*\)\n$/;

  test("refuses a Node that is too old in words, not with a syntax error", () => {
    const source = readFileSync(join(ROOT, "src/cli/main.ts"), "utf8");
    expect(source.startsWith("#!/usr/bin/env node\n")).toBe(true);
    expect(source).not.toMatch(/^import /m);
    const pretend = 'Object.defineProperty(process.versions, "node", { value: "22.1.0" });';
    const preload = `data:text/javascript,${encodeURIComponent(pretend)}`;
    const run = (): string =>
      execFileSync(process.execPath, ["--import", preload, join(ROOT, "src/cli/main.ts"), "--version"], {
        encoding: "utf8",
        stdio: "pipe",
      });
    expect(run).toThrow(expect.objectContaining({ status: 2, stderr: expect.stringMatching(SAYS_HOW) }));
  });

  test("ends with the code of a fault where it ends without an exit code of its own", async () => {
    const preload = `data:text/javascript,${encodeURIComponent("process.exit = () => {};")}`;
    const { code, out } = await spawnRota(["help"], { env: { NODE_OPTIONS: `--import ${preload}` } });
    expect([code, out.length > 0]).toEqual([70, true]);
  });

  test("tells a fault of its own from one of the user, and where it is only when asked", async () => {
    const preload = `data:text/javascript,${encodeURIComponent('JSON.stringify = () => { throw new Error("out of\\u001b ink"); };')}`;
    const env = { NODE_OPTIONS: `--import ${preload}` };
    const plain = await spawnRota(["schema"], { env });
    expect(plain).toMatchObject({ code: 70, out: "" });
    expect(plain.err).toBe("rota: internal error: out of\\x1b ink (please report it; ROTA_DEBUG=1 shows where)\n");
    const debug = await spawnRota(["schema"], { env: { ...env, ROTA_DEBUG: "1" } });
    expect(debug.err).toMatch(/internal error[^\n]+\nError: out of[^\n]+\n +at /);
  });
});

describe("init", () => {
  test("writes a plan that is in order and runs green, and never overwrites", async () => {
    const cwd = freshDir();
    expect(await spawnRota(["init"], { cwd })).toEqual({
      code: 0,
      out: "Wrote plan.yaml. Run it with: rota run plan.yaml\n",
      err: "",
    });
    expect(await spawnRota(["check", "plan.yaml", "--strict"], { cwd })).toMatchObject({
      code: 0,
      out: "plan.yaml: 5 tasks, nothing wrong\n",
    });
    expect(await spawnRota(["run", "plan.yaml"], { cwd })).toMatchObject({ code: 0 });
    const before = readFileSync(join(cwd, "plan.yaml"), "utf8");
    expect(await spawnRota(["init"], { cwd })).toEqual({
      code: 2,
      out: "",
      err: "FILE_EXISTS: plan.yaml is there already (Choose another name, or remove the file first.)\n",
    });
    expect(readFileSync(join(cwd, "plan.yaml"), "utf8")).toBe(before);
  });
});

describe("check", () => {
  const bad = "tasks:\n  build: { run: make }\n  ship:\n    run: ./ship.sh\n    needs: [biuld]\n    retires: 3\n";

  test("shows each problem where it is, like a compiler", async () => {
    const cwd = freshDir();
    writeFileSync(join(cwd, "plan.yaml"), bad);
    const { code, out, err } = await spawnRota(["check", "plan.yaml"], { cwd });
    expect({ code, err }).toEqual({ code: 2, err: "" });
    expect(out).toMatchInlineSnapshot(`
      "plan.yaml:5:13: error PLAN_NEED_UNKNOWN: ship waits for "biuld", which is not a task.
      5 |     needs: [biuld]
        |             ^
        = Did you mean "build"?

      plan.yaml:6:5: error PLAN_KEY_UNKNOWN: "retires" is not a field of a task.
      6 |     retires: 3
        |     ^
        = Did you mean "requires"?

      plan.yaml: 2 errors
      "
    `);
  });

  test("says the same as JSON", async () => {
    const cwd = freshDir();
    writeFileSync(join(cwd, "plan.yaml"), bad);
    const { code, out } = await spawnRota(["check", "plan.yaml", "--json"], { cwd });
    expect(code).toBe(2);
    expect(JSON.parse(out)).toMatchInlineSnapshot(`
      {
        "diagnostics": [
          {
            "code": "PLAN_NEED_UNKNOWN",
            "column": 13,
            "file": "plan.yaml",
            "hint": "Did you mean "build"?",
            "line": 5,
            "message": "ship waits for "biuld", which is not a task.",
            "severity": "error",
          },
          {
            "code": "PLAN_KEY_UNKNOWN",
            "column": 5,
            "file": "plan.yaml",
            "hint": "Did you mean "requires"?",
            "line": 6,
            "message": ""retires" is not a field of a task.",
            "severity": "error",
          },
        ],
      }
    `);
  });

  test("warns of tasks that touch the same file, and refuses them when strict", async () => {
    const cwd = freshDir();
    writeFileSync(
      join(cwd, "plan.yaml"),
      "tasks:\n  a: { run: x, writes: [out/] }\n  b: { run: x, writes: [out/b] }\n",
    );
    const loose = await spawnRota(["check", "plan.yaml", "--json"], { cwd });
    const strict = await spawnRota(["check", "plan.yaml", "--json", "--strict"], { cwd });
    const severities = ({ out }: { out: string }) =>
      (JSON.parse(out) as { diagnostics: { severity: string }[] }).diagnostics.map(({ severity }) => severity);
    expect([loose.code, severities(loose)]).toEqual([0, ["warning"]]);
    expect([strict.code, severities(strict)]).toEqual([2, ["error"]]);
  });

  test("speaks of a file that is not there in the form that was asked for", async () => {
    const cwd = freshDir();
    expect(await spawnRota(["check", "none.yaml"], { cwd })).toEqual({
      code: 2,
      out: "",
      err: "PLAN_UNREADABLE: none.yaml cannot be read: There is no such file (Check the path, and that you may read the file.)\n",
    });
    const { code, out } = await spawnRota(["check", "none.yaml", "--json"], { cwd });
    expect(code).toBe(2);
    expect(JSON.parse(out)).toMatchObject({ diagnostics: [{ code: "PLAN_UNREADABLE", file: "none.yaml", line: 1 }] });
  });
});

test("schema prints a JSON Schema that knows the fields of a task", async () => {
  const { code, out } = await spawnRota(["schema"]);
  expect(code).toBe(0);
  expect(JSON.parse(out)).toMatchObject({ $defs: { task: { properties: { run: {}, needs: {}, retry: {} } } } });
});

describe("the examples", () => {
  test.each(["quickstart", "failing", "release", "agents"])("%s is in order, even strictly", async (name) => {
    expect(await spawnRota(["check", `examples/${name}.yaml`, "--strict", "--json"])).toEqual({
      code: 0,
      out: '{"diagnostics":[]}\n',
      err: "",
    });
  });

  test("quickstart succeeds, with a retry on the way", async () => {
    const state = freshDir();
    expect(await spawnRota(["run", "examples/quickstart.yaml", "--state", state])).toMatchObject({ code: 0 });
    const { out } = await spawnRota(["events", "--json", "--state", state]);
    const retried = out.split("\n").filter((line) => line.includes('"kind":"retried"'));
    expect(retried).toHaveLength(2);
  });

  test("failing fails, and skips what depends on the failure", async () => {
    const state = freshDir();
    expect(await spawnRota(["run", "examples/failing.yaml", "--state", state])).toMatchObject({ code: 1 });
    const { out } = await spawnRota(["status", "--json", "--state", state]);
    expect(JSON.parse(out)).toMatchObject({ state: "failed", tasks: { succeeded: 3, failed: 3, skipped: 2 } });
  });

  test("release succeeds", async () => {
    const { code } = await spawnRota(["run", "examples/release.yaml", "--workers", "6", "--state", freshDir()]);
    expect(code).toBe(0);
  });
});

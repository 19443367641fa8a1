import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freshDir, rota } from "../../../test/rig/cli.ts";
import { existingState, stateHere, stateOfPlan, stateToSubmit } from "./state.ts";

describe("a variable that is empty", () => {
  const env = { ROTA_STATE: "" };

  test("is as good as none", () => {
    const cwd = freshDir();
    const where = { flag: undefined, env, cwd };
    expect(stateOfPlan(where, join(cwd, "plans/p.yaml")).root).toBe(join(cwd, "plans/.rota"));
    expect(stateHere(where).root).toBe(join(cwd, ".rota"));
    expect(() => existingState(where)).toThrow(expect.objectContaining({ code: "STATE_MISSING" }));
    mkdirSync(join(cwd, ".rota"));
    writeFileSync(join(cwd, ".rota/rota.db"), "");
    expect(existingState(where).root).toBe(join(cwd, ".rota"));
  });

  test("is no reason for the doctor to look for a directory", async () => {
    expect((await rota(["doctor"], { cwd: freshDir(), env })).err).toBe("");
  });
});

test.runIf(existsSync("/proc/self"))(
  "a state directory that the system cannot make is refused, and not tried for ever",
  async () => {
    const plan = join(freshDir(), "p.yaml");
    writeFileSync(plan, "tasks: { a: { run: echo } }");
    const { code, err } = await rota(["run", plan, "--state", "/proc/no-such-folder"], { cwd: freshDir() });
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining("STATE_UNUSABLE: /proc/no-such-folder") });
  },
);

describe("where state lives", () => {
  const project = (mark: string): string => {
    const dir = freshDir();
    mkdirSync(join(dir, "examples/deep"), { recursive: true });
    writeFileSync(join(dir, mark), "");
    return dir;
  };
  const from = (cwd: string) => ({ flag: undefined, env: {}, cwd });

  test.each([".git", "rota.config.yaml", "rota.config.json"])("is the root of the project that %s marks", (mark) => {
    const dir = project(mark);
    const root = join(dir, ".rota");
    expect(stateOfPlan(from("/"), join(dir, "examples/deep/p.yaml")).root).toBe(root);
    expect(stateHere(from(join(dir, "examples"))).root).toBe(root);
    expect(stateToSubmit(from("/"), join(dir, "examples/p.yaml")).root).toBe(root);
  });

  test("is beside a plan that belongs to no project", () => {
    const dir = freshDir();
    expect(stateOfPlan(from("/"), join(dir, "p.yaml")).root).toBe(join(dir, ".rota"));
  });

  test("is that of the current directory for a plan of no project that is submitted", () => {
    const [here, there] = [project(".git"), freshDir()];
    expect(stateToSubmit(from(here), join(there, "p.yaml")).root).toBe(join(here, ".rota"));
  });

  test("is the nearest .rota upwards where there is no project", () => {
    const dir = freshDir();
    mkdirSync(join(dir, ".rota"));
    mkdirSync(join(dir, "below"));
    expect(stateHere(from(join(dir, "below"))).root).toBe(join(dir, ".rota"));
  });
});

test("a look from the root of the project finds the run of a plan below", async () => {
  const cwd = freshDir();
  mkdirSync(join(cwd, "examples"));
  writeFileSync(join(cwd, ".git"), "");
  writeFileSync(join(cwd, "examples/p.yaml"), "name: p\ntasks:\n  a: { run: 'true' }\n");
  expect((await rota(["run", "examples/p.yaml"], { cwd })).code).toBe(0);
  expect(await rota(["status"], { cwd })).toMatchObject({ code: 0, err: "" });
});

describe("git", () => {
  const run = async (cwd: string, state: readonly string[]): Promise<void> => {
    writeFileSync(join(cwd, "p.yaml"), "name: p\ntasks:\n  a: { run: 'true' }\n");
    expect((await rota(["run", "p.yaml", ...state], { cwd })).code).toBe(0);
  };

  test.each([[[]], [["--state", "kept"]]])(
    "takes in nothing of a state directory that Rota made: %j",
    async (state) => {
      const cwd = freshDir();
      await run(cwd, state);
      execFileSync("git", ["init", "--quiet"], { cwd });
      expect(execFileSync("git", ["status", "--porcelain"], { cwd, encoding: "utf8" })).toBe("?? p.yaml\n");
    },
  );

  test("is not told to ignore a directory that was there before", async () => {
    const cwd = freshDir();
    mkdirSync(join(cwd, "mine"));
    await run(cwd, ["--state", "mine"]);
    expect(existsSync(join(cwd, "mine/.gitignore"))).toBe(false);
  });
});

describe("a state directory that cannot be used", () => {
  /** The tests may run as root, for whom permissions do not count; but no user can look into a file as into a folder. */
  const unusable = (): string => {
    const file = join(freshDir(), "state");
    writeFileSync(file, "");
    return file;
  };

  test("is not called empty", async () => {
    const state = unusable();
    const { code, err } = await rota(["status", "--state", state]);
    expect(code).toBe(2);
    expect(err).toMatch(`STATE_UNUSABLE: ${state}: ENOTDIR: not a directory`);
  });

  test("is no fault of the program when it is to be worked in", async () => {
    const cwd = freshDir();
    writeFileSync(join(cwd, "p.yaml"), "name: p\ntasks:\n  a: { run: 'true' }\n");
    mkdirSync(join(cwd, "state"));
    writeFileSync(join(cwd, "state/processes"), "");
    const { code, err } = await rota(["run", "p.yaml", "--state", "state"], { cwd });
    expect(err).toMatch(`STATE_UNUSABLE: ${join(cwd, "state/processes")}: EEXIST: file already exists`);
    expect(code).toBe(2);
  });
});

test("an empty --state is refused", async () => {
  const cwd = freshDir();
  writeFileSync(join(cwd, "p.yaml"), "name: p\ntasks:\n  a: { run: 'true' }\n");
  const { code, err } = await rota(["run", "p.yaml", "--state", ""], { cwd });
  expect({ code, err }).toEqual({ code: 2, err: expect.stringMatching(/^USAGE: run: --state needs a value/) });
});

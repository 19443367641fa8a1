import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freshDir, rota } from "../../test/rig/cli.ts";
import { existingState, stateOfPlan, stateToServe } from "./state.ts";

describe("a variable that is empty", () => {
  const env = { ROTA_STATE: "" };

  test("is as good as none", () => {
    const cwd = freshDir();
    const where = { flag: undefined, env, cwd };
    expect(stateOfPlan(where, join(cwd, "plans/p.yaml")).root).toBe(join(cwd, "plans/.rota"));
    expect(stateToServe(where).root).toBe(join(cwd, ".rota"));
    expect(() => existingState(where)).toThrow(expect.objectContaining({ code: "STATE_MISSING" }));
    mkdirSync(join(cwd, ".rota"));
    writeFileSync(join(cwd, ".rota/rota.db"), "");
    expect(existingState(where).root).toBe(join(cwd, ".rota"));
  });

  test("is no reason for the doctor to look for a directory", async () => {
    expect((await rota(["doctor"], { cwd: freshDir(), env })).err).toBe("");
  });
});

describe("a state directory that cannot be used", () => {
  /** The tests may be run by root, whom no permission binds; nobody can look into a file. */
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

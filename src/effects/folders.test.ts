import { existsSync, mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { makeFolders } from "./folders.ts";

describe("folders", () => {
  let dir: string;
  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "rota-folders-"));
  });
  afterEach(() => rmSync(dir, { recursive: true }));

  test("are made with those above them, for their owner alone", () => {
    expect(makeFolders(join(dir, "a/b/c"))).toBe(true);
    for (const each of ["a", "a/b", "a/b/c"]) expect(statSync(join(dir, each)).mode & 0o777).toBe(0o700);
  });

  test("that are there are found, also behind a link", () => {
    symlinkSync(dir, join(dir, "link"));
    expect(makeFolders(dir)).toBe(false);
    expect(makeFolders(join(dir, "link"))).toBe(false);
  });

  test("that cannot be made are refused in the words of the system", () => {
    writeFileSync(join(dir, "file"), "");
    symlinkSync("/nowhere/at/all", join(dir, "broken"));
    expect(() => makeFolders(join(dir, "file"))).toThrow(/EEXIST/);
    expect(() => makeFolders(join(dir, "file/a"))).toThrow(/ENOTDIR/);
    expect(() => makeFolders(join(dir, "broken"))).toThrow(/EEXIST/);
    expect(() => makeFolders(join(dir, "broken/a"))).toThrow(/EEXIST|ENOENT/);
  });

  test.runIf(existsSync("/proc/self"))(
    "are refused at once where the system has no such folder, although the one above is there",
    () => {
      expect(() => makeFolders("/proc/no-such-folder/state")).toThrow(/ENOENT/);
    },
  );
});

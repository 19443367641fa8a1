import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claimIdentity, prepareDirectory } from "./files.ts";

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rota-files-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const unusable = (path: string, said: string) =>
  expect.objectContaining({ code: "STATE_UNUSABLE", message: expect.stringContaining(`${path}: ${said}`) });

test("a directory that cannot be made is for the user to put right", () => {
  writeFileSync(join(dir, "processes"), "");
  expect(() => prepareDirectory(dir)).toThrow(unusable(join(dir, "processes"), "EEXIST"));
});

test("so is one in which nothing can be written", () => {
  const gone = join(dir, "gone");
  expect(() => claimIdentity(gone, () => ({ stateId: "a", secret: "b" }), "x")).toThrow(unusable(gone, "ENOENT"));
});

test("the first identity stays", () => {
  const directory = prepareDirectory(dir);
  const first = { stateId: "a", secret: "b" };
  expect(claimIdentity(directory, () => first, "x")).toEqual(first);
  expect(claimIdentity(directory, () => ({ stateId: "c", secret: "d" }), "y")).toEqual(first);
});

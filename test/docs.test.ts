import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { livePicture } from "../scripts/picture.ts";
import { referencePages } from "../scripts/reference.ts";
import { PRIORITIES } from "../src/domain/spec.ts";
import { TASK_STATES } from "../src/domain/task.ts";

const root = resolve(import.meta.dirname, "..");
const read = (path: string): string => readFileSync(join(root, path), "utf8");

describe("the reference", () => {
  test.each([...referencePages()])("%s is in step with the code (`npm run docs` makes it so)", (path, text) => {
    expect(read(path)).toBe(text);
  });
});

test("the picture in the README is what the live view draws (`npm run docs` makes it so)", () => {
  expect(read("docs/live.svg")).toBe(livePicture());
  expect(read("README.md")).toContain("](docs/live.svg)");
});

describe("the glossary", () => {
  const words = read("docs/concepts/words.md");

  test.each(TASK_STATES)("says what `%s` means", (state) => {
    expect(words).toContain(`| ${state} |`);
  });

  test("knows the priorities", () => {
    expect(words).toContain(PRIORITIES.join(", "));
  });
});

import { globSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { packageExports } from "../scripts/exports.ts";
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

test("everything that the package exports says what it is, but for replies, which the API describes", () => {
  const silent = packageExports().filter(({ file, sentence }) => file !== "src/wire/answers.ts" && sentence === "");
  expect(silent.map(({ name, file }) => `${name} of ${file}`)).toEqual([]);
});

describe("the glossary", () => {
  const words = read("docs/concepts/words.md");

  test.each(TASK_STATES)("says what `%s` means", (state) => {
    expect(words).toContain(`| ${state} |`);
  });

  test("knows the priorities", () => {
    expect(words).toContain(PRIORITIES.join(", "));
  });

  test("has every word once", () => {
    const [things = "", states = "", outcomes = "", code = ""] = words.split(/^## .*$/m);
    const wordsOf = (part: string): readonly string[] =>
      [...part.matchAll(/^\| ([^|]+) \|/gm)]
        .map(([, word = ""]) => word)
        .filter((word) => !/^(?:-+|word|name)$/.test(word));
    expect([states, outcomes].map((part) => wordsOf(part).length > 0)).toEqual([true, true]);
    const all = [...wordsOf(things), ...wordsOf(code)];
    expect(all.filter((word, at) => all.indexOf(word) !== at)).toEqual([]);
  });
});

describe("pages for engineers", () => {
  const pages = ["ARCHITECTURE.md", "CONTRIBUTING.md", ...globSync("src/**/README.md", { cwd: root })];

  test.each(pages)("%s names only files and folders that are there", (page) => {
    const named = [...read(page).matchAll(/`((?:src|test|scripts|docs|bench|examples)\/[^`\s:]*)`/g)].map(
      ([, path = ""]) => path,
    );
    const isThere = (path: string): boolean =>
      path.includes("<") || [path, `${path}.test.ts`].some((each) => globSync(each, { cwd: root }).length > 0);
    expect(named.filter((path) => !isThere(path))).toEqual([]);
  });

  test.each(globSync("src/**/README.md", { cwd: root }))("%s names only neighbours that are there", (page) => {
    const folder = dirname(page);
    const named = [...read(page).matchAll(/`([\w-]+(?:\/[\w-]+)*(?:\.(?:ts|sh|sql)|\/))`/g)].map(
      ([, path = ""]) => path,
    );
    const isThere = (path: string): boolean =>
      [join(folder, path), join(folder, "**", path), path].some((each) => globSync(each, { cwd: root }).length > 0);
    expect(named.filter((path) => !path.startsWith("dist/") && !isThere(path))).toEqual([]);
  });
});

describe("the walk of one task", () => {
  const architecture = read("ARCHITECTURE.md");
  const [, section = ""] = architecture.split(/^## The walk of one task$/m);
  const lines = (section.split(/^## /m)[0] ?? "").split(/^- /m).slice(1);
  const hops = lines.map((line) =>
    [...line.matchAll(/`([\w/-]+\.ts):(#?\w+)`/g)].map(([, file = "", name = ""]) => ({ file, name })),
  );
  const source = (file: string): string => read(`src/${file}`);

  test.each(hops.flat())("goes through $name of $file", ({ file, name }) => {
    expect(source(file)).toMatch(new RegExp(`^[\\w\\s*]*(?<![\\w#])${name}(?:<.*>)?(?:\\(| = |: )`, "m"));
  });

  test("leads from each function to the next", () => {
    const lost = hops.flatMap((line) =>
      line.slice(1).filter(({ name }, at) => {
        const called = new RegExp(`(?<![\\w#])${name}\\b`);
        return !line.slice(0, at + 1).some(({ file }) => called.test(source(file)));
      }),
    );
    expect(lost).toEqual([]);
  });

  test("is shorter than fifty functions from the plan file to the process", () => {
    const act = lines.findIndex((line) => line.startsWith("**act**"));
    expect(hops.slice(0, act + 1).flat().length).toBeLessThan(50);
  });
});

import { readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import type { Diagnostic } from "./check/diagnostics.ts";
import { DIAGNOSTICS } from "./check/diagnostics.ts";
import { parsePlan } from "./plan.ts";

const CORPUS = resolve(import.meta.dirname, "../../test/corpus/plans");

/** JSON that is broken on purpose ends in `.json.txt`, so that no tool tries to tidy it up. */
const parseFile = (folder: string, name: string) =>
  parsePlan(readFileSync(resolve(CORPUS, folder, name)), name.replace(/\.txt$/, ""));

const shown = ({ line, column, code }: Diagnostic): string => `${line}:${column} ${code}`;

/** What is said about each file, and where. Without a place, it is where the parser ran out of stack. */
const EXPECTED: Readonly<Record<string, readonly string[]>> = {
  "alias-bomb.yaml": ["4:51 PLAN_ALIASES"],
  "alias-of-itself.yaml": ["2:6 PLAN_ALIASES"],
  "bad-escape.json.txt": ["1:23 PLAN_SYNTAX"],
  "bad-indent.yaml": ["4:1 PLAN_SYNTAX"],
  "bidi-name.yaml": ["1:7 PLAN_VALUE", "1:9 PLAN_BIDI"],
  "colon-in-text.yaml": ["3:10 PLAN_SYNTAX"],
  "comment.json.txt": ["2:3 PLAN_SYNTAX"],
  "cut-inside-a-character.yaml": ["2:3 PLAN_ENCODING"],
  "cut-off.json.txt": ["1:26 PLAN_SYNTAX"],
  "cycle.yaml": ["2:24 PLAN_CYCLE"],
  "deep-lists.yaml": ["PLAN_TOO_LARGE"],
  "deep-maps.yaml": ["1:404 PLAN_TOO_LARGE"],
  "deep.json.txt": ["1:109 PLAN_TOO_LARGE"],
  "defaults.yaml": ["1:13 PLAN_KEY_UNKNOWN", "1:21 PLAN_KEY_UNKNOWN", "1:42 PLAN_KEY_UNKNOWN"],
  "duplicate-by-matrix.yaml": ["3:3 PLAN_DUPLICATE"],
  "duplicate-field.json.txt": ["1:26 PLAN_DUPLICATE"],
  "duplicate-field.yaml": ["4:5 PLAN_DUPLICATE"],
  "duplicate-in-list.yaml": ["4:11 PLAN_DUPLICATE"],
  "duplicate-number.yaml": ["3:3 PLAN_DUPLICATE"],
  "duplicate-task.json.txt": ["2:1 PLAN_DUPLICATE"],
  "duplicate-task.yaml": ["4:3 PLAN_DUPLICATE"],
  "empty.yaml": ["1:1 PLAN_EMPTY"],
  "env.yaml": [
    "2:23 PLAN_VALUE",
    "3:23 PLAN_VALUE",
    "4:26 PLAN_TYPE",
    "5:34 PLAN_VALUE",
    "6:28 PLAN_KEY_UNKNOWN",
    "7:23 PLAN_TYPE",
  ],
  "half-a-character.json.txt": ["1:9 PLAN_VALUE"],
  "id-in-map.yaml": ["2:8 PLAN_KEY_UNKNOWN"],
  "id-missing-in-list.yaml": ["2:5 PLAN_MISSING"],
  "ids.yaml": ["2:3 PLAN_ID", "3:3 PLAN_ID", "4:3 PLAN_ID", "5:3 PLAN_ID", "6:3 PLAN_ID", "7:3 PLAN_ID", "8:3 PLAN_ID"],
  "impossible.yaml": ["3:37 PLAN_IMPOSSIBLE", "4:34 PLAN_IMPOSSIBLE", "4:47 PLAN_IMPOSSIBLE", "4:61 PLAN_IMPOSSIBLE"],
  "key-is-a-list.yaml": ["1:1 PLAN_EMPTY", "2:5 PLAN_TYPE"],
  "latin1.yaml": ["1:10 PLAN_ENCODING"],
  "list-at-the-top.yaml": ["1:1 PLAN_TYPE"],
  "long-id.yaml": ["2:3 PLAN_ID"],
  "long-name.json.txt": ["1:9 PLAN_VALUE"],
  "matrix.yaml": ["2:13 PLAN_VALUE", "3:21 PLAN_VALUE", "4:29 PLAN_VALUE", "5:24 PLAN_VALUE", "6:23 PLAN_NEED_SELF"],
  "merge-bomb.yaml": ["3:304 PLAN_ALIASES"],
  "merge-of-text.yaml": ["2:8 PLAN_TYPE"],
  "nan.json.txt": ["1:44 PLAN_SYNTAX"],
  "need-self.yaml": ["2:24 PLAN_NEED_SELF"],
  "need-unknown.yaml": ["3:24 PLAN_NEED_UNKNOWN", "3:38 PLAN_NEED_UNKNOWN"],
  "needs-text.yaml": ["3:23 PLAN_TYPE"],
  "no-tasks.yaml": ["2:1 PLAN_EMPTY"],
  "nul-escaped.json.txt": ["1:22 PLAN_VALUE"],
  "nul.yaml": ["2:15 PLAN_ENCODING"],
  "numbers.yaml": [
    "2:35 PLAN_VALUE",
    "3:35 PLAN_VALUE",
    "4:33 PLAN_VALUE",
    "5:33 PLAN_VALUE",
    "6:30 PLAN_VALUE",
    "7:34 PLAN_VALUE",
    "8:34 PLAN_VALUE",
    "9:37 PLAN_VALUE",
    "10:37 PLAN_VALUE",
    "11:37 PLAN_TYPE",
    "12:37 PLAN_VALUE",
    "13:37 PLAN_VALUE",
    "14:26 PLAN_TYPE",
    "15:34 PLAN_VALUE",
  ],
  "only-comments.yaml": ["1:1 PLAN_EMPTY"],
  "overlong.yaml": ["1:8 PLAN_ENCODING"],
  "paths.yaml": [
    "2:25 PLAN_VALUE",
    "3:24 PLAN_VALUE",
    "4:25 PLAN_VALUE",
    "5:21 PLAN_VALUE",
    "6:25 PLAN_VALUE",
    "7:25 PLAN_VALUE",
    "8:24 PLAN_VALUE",
  ],
  "proto-at-the-top.json.txt": ["1:2 PLAN_KEY_FORBIDDEN"],
  "proto-by-merge.yaml": ["3:3 PLAN_KEY_FORBIDDEN"],
  "proto-in-env.yaml": ["2:23 PLAN_KEY_FORBIDDEN", "2:39 PLAN_KEY_FORBIDDEN"],
  "proto-in-labels.json.txt": ["1:36 PLAN_KEY_FORBIDDEN", "1:52 PLAN_KEY_FORBIDDEN"],
  "proto-in-resources.yaml": ["1:14 PLAN_KEY_FORBIDDEN", "3:29 PLAN_KEY_FORBIDDEN"],
  "proto-in-task.yaml": ["2:16 PLAN_KEY_FORBIDDEN"],
  "proto-task.json.txt": ["1:11 PLAN_KEY_FORBIDDEN"],
  "proto-task.yaml": ["2:3 PLAN_KEY_FORBIDDEN", "3:3 PLAN_KEY_FORBIDDEN", "4:3 PLAN_KEY_FORBIDDEN"],
  "rates.yaml": ["1:17 PLAN_VALUE", "1:34 PLAN_VALUE", "1:44 PLAN_VALUE", "1:54 PLAN_VALUE", "1:63 PLAN_VALUE"],
  "run-empty.yaml": [
    "2:13 PLAN_VALUE",
    "3:13 PLAN_VALUE",
    "4:13 PLAN_VALUE",
    "5:13 PLAN_VALUE",
    "6:14 PLAN_TYPE",
    "7:13 PLAN_TYPE",
    "8:8 PLAN_TYPE",
  ],
  "run-missing.yaml": ["2:3 PLAN_MISSING"],
  "scalar.yaml": ["1:1 PLAN_TYPE"],
  "single-quotes.json.txt": ["1:2 PLAN_SYNTAX"],
  "surrogate-in-utf8.yaml": ["1:8 PLAN_ENCODING"],
  "tab-indent.yaml": ["2:1 PLAN_SYNTAX", "3:1 PLAN_SYNTAX"],
  "tasks-left-empty.yaml": ["2:1 PLAN_EMPTY"],
  "tasks-missing.yaml": ["1:1 PLAN_MISSING"],
  "tasks-text.yaml": ["1:8 PLAN_TYPE"],
  "times.yaml": [
    "2:25 PLAN_VALUE",
    "3:25 PLAN_VALUE",
    "4:26 PLAN_VALUE",
    "5:26 PLAN_TYPE",
    "6:34 PLAN_TYPE",
    "7:30 PLAN_VALUE",
    "8:25 PLAN_VALUE",
    "9:25 PLAN_VALUE",
    "10:25 PLAN_VALUE",
  ],
  "trailing-comma.json.txt": ["4:3 PLAN_SYNTAX"],
  "two-cycles.yaml": ["2:24 PLAN_CYCLE", "4:27 PLAN_CYCLE"],
  "two-documents.yaml": ["2:1 PLAN_SYNTAX"],
  "unclosed-bracket.yaml": ["2:19 PLAN_SYNTAX", "2:20 PLAN_SYNTAX"],
  "unclosed-quote.yaml": ["3:1 PLAN_SYNTAX", "3:1 PLAN_SYNTAX"],
  "unknown-alias.yaml": ["2:13 PLAN_SYNTAX"],
  "unknown-key-at-the-top.yaml": ["1:1 PLAN_KEY_UNKNOWN"],
  "unknown-key.yaml": ["2:16 PLAN_KEY_UNKNOWN"],
  "unknown-tag.yaml": ["2:13 PLAN_SYNTAX"],
  "unsupported.yaml": [
    "1:1 PLAN_UNSUPPORTED",
    "3:16 PLAN_UNSUPPORTED",
    "4:16 PLAN_UNSUPPORTED",
    "4:27 PLAN_UNSUPPORTED",
    "4:42 PLAN_UNSUPPORTED",
    "4:53 PLAN_UNSUPPORTED",
    "5:8 PLAN_UNSUPPORTED",
    "6:37 PLAN_UNSUPPORTED",
  ],
  "utf16-without-mark.yaml": ["1:2 PLAN_ENCODING"],
  "utf16.yaml": ["1:1 PLAN_ENCODING"],
};

describe("a bad plan", () => {
  test("is in the table, and the table is in step with the files", () => {
    expect(readdirSync(resolve(CORPUS, "bad")).sort()).toEqual(Object.keys(EXPECTED).sort());
  });

  test.each(Object.entries(EXPECTED))("%s is refused where it is wrong", async (name, expected) => {
    const result = await parseFile("bad", name);
    const diagnostics = result.ok ? [] : result.error;
    const isPlaced = expected.every((line) => line.includes(":"));
    expect(diagnostics.map((diagnostic) => (isPlaced ? shown(diagnostic) : diagnostic.code))).toEqual(expected);
    for (const diagnostic of diagnostics) expect(diagnostic).toMatchObject(WELL_FORMED);
  });

  test("leaves the language as it was", async () => {
    const before = Reflect.ownKeys(Object.prototype).map(String);
    for (const name of Object.keys(EXPECTED)) await parseFile("bad", name);
    expect(Reflect.ownKeys(Object.prototype).map(String)).toEqual(before);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test("shows every code there is, but for the few with tests of their own", () => {
    const seen = new Set(Object.values(EXPECTED).flatMap((lines) => lines.map((line) => line.split(" ").at(-1))));
    const elsewhere = ["PLAN_DIRECTORY", "PLAN_HAZARD", "PLAN_HAZARD_LIMIT", "PLAN_MORE", "PLAN_VARIABLE"];
    expect(new Set([...seen, ...elsewhere])).toEqual(new Set(Object.keys(DIAGNOSTICS)));
  });
});

const WELL_FORMED = {
  file: expect.stringMatching(/\.(yaml|json)$/),
  severity: expect.stringMatching(/^(error|warning)$/),
  message: expect.stringMatching(/^[\x20-\x7e\u00a0-\uffff]+\.$/),
  hint: expect.stringMatching(/^[\x20-\x7e]+[.?]$/),
};

describe("a good plan", () => {
  test.each(readdirSync(resolve(CORPUS, "good")))("%s is read without a word", async (name) => {
    expect(await parseFile("good", name)).toMatchObject({ ok: true, value: { warnings: [] } });
  });
});

import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { always } from "../../../test/rig/property.ts";
import type { Path } from "../../std/problems.ts";
import { isMap } from "../../std/schema.ts";
import { offsetOf, Place } from "./places.ts";
import type { Source } from "./source.ts";
import { readFastYaml } from "./yaml-fast.ts";
import { readFullYaml } from "./yaml-full.ts";

/** Every path in a value, so that all places can be compared. */
function pathsOf(value: unknown, path: Path = []): readonly Path[] {
  if (Array.isArray(value)) return [path, ...value.flatMap((item, at) => pathsOf(item, [...path, at]))];
  if (!isMap(value)) return [path];
  return [path, ...Object.entries(value).flatMap(([key, inner]) => pathsOf(inner, [...path, key]))];
}

function placesOf(source: Pick<Source, "locate">, paths: readonly Path[]): readonly unknown[] {
  const places = new Place();
  for (const path of paths) places.want(path);
  source.locate(places);
  return paths.map((path) => [path, offsetOf(places, path, "key"), offsetOf(places, path, "value")]);
}

/** Compares the fast reader with the full one, wherever it answers at all. */
function expectSameAsFull(text: string): "answered" | "unsure" {
  const fast = readFastYaml(text);
  if (fast === undefined) return "unsure";
  const full = readFullYaml(text);
  expect(full, JSON.stringify(text)).toMatchObject({ ok: true, value: { findings: [] } });
  if (!full.ok) return "answered";
  // The order of keys too; and by Node's own comparison, which keys such as "constructor" do not confuse.
  expect(JSON.stringify(fast.value)).toBe(JSON.stringify(full.value.value));
  expect(isDeepStrictEqual(fast.value, full.value.value)).toBe(true);
  const paths = pathsOf(fast.value);
  const locate = (places: Place) => {
    readFastYaml(text, places);
  };
  expect(placesOf({ locate }, paths)).toEqual(placesOf(full.value, paths));
  return "answered";
}

const word = fc.constantFrom(
  ..."a b c run needs t1 10 007 1.5 -1 -0 1e3 .5 5. 0x1f 0o7 +1 1_000 .inf .nan true True no null Null ~ ".split(" "),
  ...'\'it\'\'s\' \'x\' "y" "a\\nb" "\\u0041" "\\x" "a # b" \'a: b\' # #x a#b a:b a: : :a - -- -a --- ... ? ?a ! !a & &a * *a % @ ` | |- |+ > >- { } [ ] , , ,'.split(
    " ",
  ),
  ...'[a] [a,b] [a, b] [] {} {a: 1} {a:1} {a: 1, b: [c]} [a: b] [[x]] {"a":1} {"a": 1} $x a,b a]b a}b a[b é 漢 😀 a\'b a"b \'a \'b\' "c'.split(
    " ",
  ),
  "a b",
  "echo 'x y' \"z\"",
  "http://x.y/z?q=1&r=2#f",
  "<<",
  "__proto__",
  "constructor",
);
/** Mostly harmless, so that now and then a single odd thing stands in a text that is otherwise plain. */
const words = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom("x", "build", "a b", "10", "'q'", '"d"', "./run.sh -v", "1h30m") },
  { weight: 2, arbitrary: word },
  { weight: 1, arbitrary: fc.array(word, { minLength: 2, maxLength: 3 }).map((all) => all.join(" ")) },
  { weight: 1, arbitrary: fc.string({ maxLength: 6 }) },
);
const spaces = fc.constantFrom("", " ", " ", " ", "  ");
const end = fc.constantFrom("", "", "", "", " ", " # c", "#c", " #", "  # a: b");
const oddKey = fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: word });
const flow: fc.Arbitrary<string> = fc.letrec<{ flow: string; inner: string }>((tie) => ({
  inner: fc.oneof({ depthSize: "small" }, { weight: 4, arbitrary: words }, { weight: 1, arbitrary: tie("flow") }),
  flow: fc
    .tuple(fc.array(fc.tuple(oddKey, tie("inner"), spaces), { maxLength: 3 }), fc.boolean(), spaces)
    .map(([items, isList, space]) => {
      const shown = items.map(([key, item, gap], at) =>
        isList ? item + gap.trim() : `${key ?? `f${at}`}:${gap}${item}`,
      );
      return isList ? `[${space}${shown.join(`,${space}`)}${space}]` : `{${space}${shown.join(`,${space}`)}${space}}`;
    }),
})).flow;
const literal = fc
  .tuple(
    fc.constantFrom("|", "|", "|-", "|+", ">", "|2"),
    fc.array(fc.tuple(fc.nat(3), words), { maxLength: 3 }),
    fc.nat(2),
  )
  .map(([header, lines, blank]) => [
    header,
    ...lines.map(([more, text]) => `   ${" ".repeat(more)}${text}`),
    ...Array<string>(blank).fill(""),
  ]);
/** Lines of a block, without its own indent. */
const blocks: fc.Arbitrary<readonly string[]> = fc.letrec<{
  map: readonly string[];
  list: readonly string[];
  below: readonly string[];
}>((tie) => ({
  below: fc.oneof(
    { depthSize: "small" },
    { weight: 4, arbitrary: fc.tuple(words, end).map(([text, comment]) => [` ${text}${comment}`]) },
    { weight: 2, arbitrary: fc.tuple(flow, end).map(([text, comment]) => [` ${text}${comment}`]) },
    { weight: 1, arbitrary: literal.map(([header, ...lines]) => [` ${header}`, ...lines]) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(end, tie("map"), fc.constantFrom(1, 2, 4))
        .map(([comment, lines, by]) => [comment, ...lines.map((line) => " ".repeat(by) + line)]),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(end, tie("list"), fc.constantFrom(0, 2))
        .map(([comment, lines, by]) => [comment, ...lines.map((line) => " ".repeat(by) + line)]),
    },
  ),
  map: fc
    .array(fc.tuple(oddKey, tie("below")), { minLength: 1, maxLength: 4 })
    .map((entries) => entries.flatMap(([key, [first, ...rest]], at) => [`${key ?? `k${at}`}:${first ?? ""}`, ...rest])),
  list: fc
    .array(
      fc.oneof(
        tie("below"),
        tie("map").map(([first, ...rest]) => [` ${first}`, ...rest.map((line) => `  ${line}`)]),
      ),
      { minLength: 1, maxLength: 3 },
    )
    .map((items) => items.flatMap(([first, ...rest]) => [`-${first ?? ""}`, ...rest])),
})).map;
const wildText = fc
  .tuple(
    blocks,
    fc.array(fc.tuple(fc.nat(20), fc.constantFrom("", "# c", "  # c", "   ", "x", "- y")), { maxLength: 1 }),
    fc.boolean(),
  )
  .map(([lines, extra, isEnded]) => {
    const all = [...lines];
    for (const [at, line] of extra) all.splice(at, 0, line);
    return all.join("\n") + (isEnded ? "\n" : "");
  });

const scalar = fc.oneof(
  words,
  fc.string({ maxLength: 12 }),
  { weight: 1, arbitrary: fc.string({ unit: "grapheme", maxLength: 6 }) },
  fc.integer(),
  fc.double({ noNaN: true }),
  fc.boolean(),
  fc.constant(null),
  fc.constantFrom("line\nline\n", "line\nline\n", "line\n\nline", " lead\n x\n", "trail \n"),
);
const key = fc.oneof(
  { weight: 9, arbitrary: fc.constantFrom("run", "needs", "a-b", "a.b", "10", "2", "x1") },
  { weight: 1, arbitrary: word },
);
const { value } = fc.letrec<{ value: unknown; map: unknown }>((tie) => ({
  map: fc.dictionary(key, tie("value"), { maxKeys: 5 }),
  value: fc.oneof({ depthSize: "small" }, scalar, fc.array(tie("value"), { maxLength: 4 }), tie("map")),
}));
const tidyText = fc
  .tuple(fc.dictionary(key, value, { minKeys: 1, maxKeys: 5 }), fc.constantFrom(0, 2, 3), fc.boolean(), fc.boolean())
  .map(([map, collectionStyle, isIndented, isSingle]) =>
    stringify(map, {
      collectionStyle: collectionStyle === 0 ? "flow" : "any",
      indentSeq: isIndented,
      singleQuote: isSingle,
      lineWidth: collectionStyle === 3 ? 20 : 0,
      aliasDuplicateObjects: false,
    }),
  );

/** Checks many texts, and that enough of them were plain for the test to mean something. */
async function expectSameOnMany(texts: fc.Arbitrary<string>): Promise<void> {
  let [asked, answered] = [0, 0];
  const sameAsFull = fc.property(texts, (text) => {
    asked++;
    if (expectSameAsFull(text) === "answered") answered++;
  });
  await always(1_500, sameAsFull);
  expect(answered / asked).toBeGreaterThan(0.08);
}

describe("the fast YAML reader", () => {
  test("answers exactly as the full one on text that is nearly YAML", async () => {
    await expectSameOnMany(wildText);
  });

  test("answers exactly as the full one on what a YAML writer writes", async () => {
    await expectSameOnMany(tidyText);
  });

  test("answers exactly as the full one on plans in which a few characters were changed", async () => {
    const change = fc.tuple(
      fc.nat(PLAN.length - 1),
      fc.constantFrom(..." \n:#-'\"[]{},|>&*!%@`~a1.\t\r\\?".split("")),
      fc.nat(2),
    );
    const changed = fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => {
      let text = PLAN;
      for (const [at, char, drop] of changes) text = text.slice(0, at) + char + text.slice(at + drop);
      return text;
    });
    await expectSameOnMany(changed);
  });

  test("is sure of a plan as people write them", () => {
    expect(expectSameAsFull(PLAN)).toBe("answered");
    expect(readFastYaml(PLAN)?.value).toEqual(parse(PLAN));
  });

  test.each([
    ["an anchor", "a: &x 1\n"],
    ["an alias", "a: *x\n"],
    ["a merge key", "<<: {a: 1}\n"],
    ["a tag", "a: !!str 1\n"],
    ["text over two lines", "a: b\n  c\n"],
    ["a folded block", "a: >\n  b\n"],
    ["a block that ends in spaces", "a: |\n  b\n   "],
    ["text over two lines in a list", "a:\n- b\n  c\n"],
    ["a list in brackets over two lines", "a: [b,\n  c]\n"],
    ["a tab", "a:\tb\n"],
    ["a carriage return", "a: b\r\n"],
    ["a second document", "a: 1\n---\nb: 2\n"],
    ["a key written twice", "a: 1\na: 2\n"],
    ["a key that changes objects", "__proto__: 1\n"],
    ["a number in an unusual notation", "a: 0x10\n"],
    ["a list at the top", "- a\n"],
    ["a wrong indent", "a:\n    b: 1\n  c: 2\n"],
    ["nothing", ""],
  ])("leaves %s to the full one", (_, text) => {
    expect(readFastYaml(text)).toBeUndefined();
  });

  test("keeps the order of keys that are numbers", () => {
    const read = readFastYaml("tasks:\n  b: 1\n  10: 2\n  2: 3\n");
    expect([...(read?.orders.values() ?? [])]).toEqual([["b", "10", "2"]]);
  });

  test("does not overflow on megabytes of text on one line", () => {
    const long = "x".repeat(20_000_000);
    for (const text of [
      `a: "${long}"\n`,
      `a: '${long}'\n`,
      `a: ${long}\n`,
      `a: [${long}]\n`,
      `${long}: 1\n`,
      `a: {${long}: 1}\n`,
    ]) {
      expect(() => readFastYaml(text)).not.toThrow();
    }
  });
});

const PLAN = `# A plan.
name: release
resources: { claude: 2, r1: 12 }  # capacities
defaults:
  retry: { attempts: 3, on: [1, 75] }
  env: {}

tasks:
  fetch: { run: ./fetch.sh --quiet, writes: [src/] }
  build:
    run: [make, "build all", 'it''s']
    needs: [fetch]
    after:
    - fetch
    priority: high
    resources:
      cpu: 0.5
      memory: 4GiB
    timeout: { soft: 4m, hard: 5m }
    env: { CI: "1", EMPTY: "", TOKEN: { from: TOKEN } }
    labels:
  10:
    run: |
      set -e
      echo "a: b" # not a comment

      echo done
    needs:
      - build
      - fetch
  "9":
    run: echo http://example.org/#x
    gate: true
`;

import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { PLANTED_BUGS } from "./simulation/planted.ts";
import { BROWSER_ROOTS, LAWS, readTree } from "./tidy.ts";

describe("this tree", () => {
  const tree = readTree(resolve(import.meta.dirname, ".."));

  test("is really looked at", () => {
    expect([...tree.keys()]).toContain("test/tidy.ts");
    expect([...tree.keys()].filter((path) => path.startsWith("src/")).length).toBeGreaterThan(0);
  });

  test.each(Object.entries(LAWS))("%s", (_, check) => {
    expect(check(tree)).toEqual([]);
  });
});

/** What the laws say about files given as path → text. */
const complaints = (files: Record<string, string>): string[] => {
  const tree = new Map(Object.entries(files));
  return Object.values(LAWS).flatMap((check) => check(tree));
};

describe("the law of one home", () => {
  test.each([
    [
      "whether a need is met",
      `const met = ended || spec.onFailure === "continue";`,
      "`isMet` of src/domain/waiting/needs.ts",
    ],
    [
      "a closed gate",
      `if (spec.gate !== undefined && !task.approved) return;`,
      "`isGateClosed` of src/domain/waiting/needs.ts",
    ],
    ["who cancels", `if (status.stopping?.kind === "cancelled") return;`, "`cancellerOf` of src/domain/task.ts"],
    ["poison", "if (task.expiries >= MOST) return;", "`isPoison` of src/decide/rules/rule.ts"],
    ["the working directory", `resolve(manifest.directory, spec.cwd ?? ".");`, "`directoryOf` of src/domain/run.ts"],
    ["the pool", "const pool = task.spec.pool ?? OURS;", "`poolOf` of src/domain/spec.ts"],
    [
      "the reach of a pause",
      `return pauses.has(scopeKey({ of: "run", run }));`,
      "`Pauses` of src/domain/waiting/pauses.ts",
    ],
    ["the look-up of a scope", `return { of: "task", run, task };`, "`findScope` of src/app/requests/scope.ts"],
    ["an estimate", "const ms = Math.exp(record.meanLog);", "`knownDuration` of src/domain/durations/estimate.ts"],
  ])("knows a copy of %s", (_, text, instead) => {
    expect(complaints({ "src/app/retry.ts": text })).toEqual([
      expect.stringMatching(`: use ${instead}$`.replace(/[.]/g, "\\.")),
    ]);
    expect(complaints({ "src/app/retry.test.ts": text, "src/simulate/history/law.ts": text })).toEqual([]);
  });
});

test("the law of imports counts every module once, and leaves tests alone", () => {
  const text = Array.from({ length: 21 }, (_, at) => `import { a${at} } from "./part-${at}.ts";`).join("\n");
  const [first] = text.split("\n");
  expect(complaints({ "src/engine/all.ts": text })).toEqual([
    "src/engine/all.ts: imports 21 modules, more than 20; whose parts does it hold?",
  ]);
  expect(complaints({ "src/engine/few.ts": Array(30).fill(first).join("\n"), "src/engine/all.test.ts": text })).toEqual(
    [],
  );
});

describe("the law of layers", () => {
  test.each([
    ["a plain import", `import { tick } from "../engine/tick.ts";`],
    ["an import of types", `import type { Tick } from "../engine/tick.ts";`],
    ["an import over several lines", `import {\n  tick,\n} from "../engine/tick.ts";`],
    ["an import for its effect", `import "../engine/tick.ts";`],
    ["a dynamic import", `const engine = await import("../engine/tick.ts");`],
    ["a type taken by import()", `type Tick = import("../engine/tick.ts").Tick;`],
    ["a re-export", `export * from "../engine/tick.ts";`],
  ])("sees %s", (_, text) => {
    expect(complaints({ "src/decide/retry.ts": text })).toEqual([
      "src/decide/retry.ts: imports src/engine/tick.ts, but src/decide may import only: std, domain",
    ]);
  });

  test.each([
    ["the folder itself", "src/decide/retry.ts", `import { lane } from "./lane.ts";`],
    ["a layer below", "src/decide/retry.ts", `import { task } from "../domain/task.ts";`],
    ["a contract", "src/engine/tick.ts", `import type { Store } from "../store/store.ts";`],
    ["anything, at the top", "src/index.ts", `export { tick } from "./engine/tick.ts";`],
    ["anything, in a test", "src/decide/retry.test.ts", `import { tick } from "../engine/tick.ts";`],
    ["anything, in a conformance suite", "src/store/conformance.ts", `import { tick } from "../engine/tick.ts";`],
    ["what is only mentioned", "src/std/heap.ts", `// import { tick } from "../engine/tick.ts";`],
  ])("allows %s", (_, path, text) => {
    expect(complaints({ [path]: text })).toEqual([]);
  });

  test("lets the engine see the contract and not the adapter", () => {
    expect(complaints({ "src/engine/tick.ts": `import { open } from "../store/sqlite/open.ts";` })).toHaveLength(1);
  });

  test("does not let the product import its tests", () => {
    expect(complaints({ "src/app/daemon.ts": `import { rig } from "../../test/rig/rig.ts";` })).toHaveLength(1);
  });

  test("does not know a folder that is not in the table", () => {
    expect(complaints({ "src/stuff/thing.ts": "" })).toEqual([
      "src/stuff/thing.ts: src/stuff is not in the table of folders; ask whose part it is",
    ]);
  });
});

test("a circle is found even when it is made of types", () => {
  const files = {
    "src/domain/a.ts": `import type { B } from "./b.ts";`,
    "src/domain/b.ts": `import type { C } from "./c.ts";`,
    "src/domain/c.ts": `import type { A } from "./a.ts";`,
  };
  expect(complaints(files)).toEqual([
    "src/domain/a.ts → src/domain/b.ts → src/domain/c.ts → src/domain/a.ts: move what both need into a third file",
  ]);
});

describe("the law of what a browser folds with", () => {
  const reducer = { "src/domain/reduce.ts": `import { digest } from "./world.ts";` };

  test("finds Node however far away it is imported, even for its types", () => {
    const world = `import type { Hash } from "node:crypto";`;
    expect(complaints({ ...reducer, "src/domain/world.ts": world })).toEqual([
      "src/domain/world.ts: imports node:crypto, but a browser folds with it; take it as an argument",
    ]);
  });

  test("leaves others what they need", () => {
    expect(complaints({ ...reducer, "src/domain/paths.ts": `import { sep } from "node:path";` })).toEqual([]);
  });

  test("is about files that are there", () => {
    expect(BROWSER_ROOTS.filter((root) => !readTree(resolve(import.meta.dirname, "..")).has(root))).toEqual([]);
  });
});

describe("the law of words", () => {
  test.each([
    "Date.now()",
    "new Date()",
    "performance.now()",
    "process.hrtime.bigint()",
    "setTimeout(f)",
    "setInterval(f)",
    "setImmediate(f)",
    "Math.random()",
    "crypto.randomUUID()",
    "randomBytes(8)",
    "mkdirSync(dir, { recursive: true })",
    "console.log(1)",
    "fc.assert(law)",
    "x as any",
    "export const enum Colour {}",
    "// @ts-ignore",
    "// TODO",
  ])("finds `%s`, says the line and what to do instead", (text) => {
    expect(complaints({ "src/engine/tick.ts": `\n${text}` })).toEqual([
      expect.stringMatching(/^src\/engine\/tick\.ts:2: `.+`: \w+/),
    ]);
  });

  test.each([
    ["at home", "src/effects/clock.ts", "Date.now()"],
    ["in a test", "src/engine/tick.test.ts", "Date.now()"],
    ["in a benchmark", "bench/main.ts", "performance.now()"],
    ["in a comment", "src/engine/tick.ts", "/* not Date.now() */"],
    ["when the date is given", "src/views/timeline/gantt.ts", "new Date(at)"],
    ["of a connection, which times itself", "src/wire/line-client.ts", "socket.setTimeout(5)"],
  ])("allows it %s", (_, path, text) => {
    expect(complaints({ [path]: text })).toEqual([]);
  });

  test("holds for tests, too, where it is about them", () => {
    expect(complaints({ "src/engine/tick.test.ts": "fc.assert(law)" })).toHaveLength(1);
    expect(complaints({ "test/rig/property.ts": "fc.assert(law)" })).toEqual([]);
  });

  test("sees code that follows a web address", () => {
    expect(complaints({ "src/engine/tick.ts": `const page = "https://example.org"; Date.now();` })).toHaveLength(1);
  });
});

describe("the law of actors", () => {
  test.each([
    "// Nobody waits.",
    "/** Those\n * who wait. */",
    `throw new Error("somebody else has it")`,
    `test("whoever comes first gets it")`,
    "// One that ended.",
  ])("finds %j", (text) => {
    expect(complaints({ "src/workspace/tree.ts": `\n${text}` })).toEqual([
      expect.stringMatching(/^src\/workspace\/tree\.ts:2: ".+": say session, scheduler, worker, caller, …$/),
    ]);
  });

  test("leaves what names the actor, and what a release has said", () => {
    expect(complaints({ "src/workspace/tree.ts": "// The session that waits longest. `nobodyElse`" })).toEqual([]);
    expect(complaints({ "CHANGELOG.md": "- Nobody waits.\n" })).toEqual([]);
  });
});

test.each(["src/std/utils.ts", "src/domain/types/task.ts", "src/engine/helpers.test.ts", "bench/common.ts"])(
  "`%s` is not a name",
  (path) => {
    expect(complaints({ [path]: "" })).toHaveLength(1);
  },
);

test("a file of 400 lines is one thing, of 401 it is two", () => {
  expect(complaints({ "src/engine/tick.ts": "\n".repeat(399).concat("x\n") })).toEqual([]);
  expect(complaints({ "src/engine/tick.ts": "\n".repeat(400).concat("x\n") })).toEqual([
    "src/engine/tick.ts: 401 lines, more than 400; which two things is it?",
  ]);
});

test("a page has one title, and a comment in a shell example is none", () => {
  expect(complaints({ "docs/start.md": "# Start\n\n```sh\n# install\n```\n" })).toEqual([]);
  expect(complaints({ "docs/start.md": "# Start\n\n# Again\n" })).toHaveLength(1);
  expect(complaints({ "docs/start.md": "Start\n" })).toHaveLength(1);
});

test("a test is skipped with a reason, and never run alone", () => {
  expect(complaints({ "test/e2e/run.test.ts": "// Needs a terminal.\ntest.skip()" })).toEqual([]);
  expect(complaints({ "test/e2e/run.test.ts": "\ntest.skip()" })).toHaveLength(1);
  expect(complaints({ "test/e2e/run.test.ts": "describe.only()" })).toHaveLength(1);
});

/** The simulation plants bugs by text, in processes of its own that take minutes. A moved text is found here at once. */
test.each(Object.entries(PLANTED_BUGS))("%s can be planted", (_, { file, find }) => {
  expect(readFileSync(join("src", file), "utf8").split(find)).toHaveLength(2);
});

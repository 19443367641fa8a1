import { describe, expect, test } from "vitest";
import { type ParseOptions, parsePlan } from "../plan.ts";
import type { Diagnostic } from "./diagnostics.ts";

const parse = (text: string, options: ParseOptions = {}, file = "plan.yaml") =>
  parsePlan(new TextEncoder().encode(text), file, options);

async function diagnosticsOf(
  text: string,
  options: ParseOptions = {},
  file = "plan.yaml",
): Promise<readonly Diagnostic[]> {
  const result = await parse(text, options, file);
  return result.ok ? result.value.warnings : result.error;
}

const shown = (diagnostics: readonly Diagnostic[]): readonly string[] =>
  diagnostics.map(({ line, column, severity, code, message }) => `${line}:${column} ${severity} ${code} ${message}`);

describe("diagnostics", () => {
  test("come all at once, in the order of the file, each with place and hint", async () => {
    const text = `name: x
tasks:
  ship: { rnu: make, needs: [build] }
  build: { run: make, priority: hgih, needs: [ship] }
  test: { run: make, needs: [shp, test] }
`;
    expect(await diagnosticsOf(text)).toEqual([
      {
        code: "PLAN_KEY_UNKNOWN",
        severity: "error",
        message: '"rnu" is not a field of a task.',
        file: "plan.yaml",
        line: 3,
        column: 11,
        hint: 'Did you mean "run"?',
      },
      {
        code: "PLAN_CYCLE",
        severity: "error",
        message: "These tasks wait for each other: ship → build → ship.",
        file: "plan.yaml",
        line: 3,
        column: 30,
        hint: "Remove one of these edges: none of the tasks could ever start.",
      },
      expect.objectContaining({ code: "PLAN_VALUE", line: 4, column: 33, hint: 'Did you mean "high"?' }),
      expect.objectContaining({ code: "PLAN_NEED_UNKNOWN", line: 5, column: 30, hint: 'Did you mean "ship"?' }),
      expect.objectContaining({ code: "PLAN_NEED_SELF", line: 5, column: 35 }),
    ]);
  });

  test("say of a task that calls a function whether the function is here", async () => {
    const text = "tasks:\n  a: { call: fetch, requires: [gpu] }\n";
    const here = { capabilities: ["gpu", "function:fetch"] };
    const parsed = await parse(text, here);
    expect(parsed.ok && parsed.value.plan.tasks[0]).toMatchObject({
      run: { call: "fetch" },
      requires: ["gpu", "function:fetch"],
    });
    expect(shown(await diagnosticsOf(text, { capabilities: ["gpu"] }))).toEqual([
      '2:14 error PLAN_IMPOSSIBLE a calls the function "fetch", which is not here.',
    ]);
    // Elsewhere it may be.
    expect(await diagnosticsOf(text)).toEqual([]);
  });

  test("say of a task that it does one thing, and that a function is called by no session", async () => {
    expect(shown(await diagnosticsOf("tasks:\n  a: { run: make, call: fetch }\n"))).toEqual([
      '2:6 error PLAN_VALUE tasks.a has both "run" and "call".',
    ]);
    expect(shown(await diagnosticsOf("tasks:\n  a: { call: fetch, pool: agents }\n"))).toEqual([
      "2:8 error PLAN_UNSUPPORTED tasks.a calls a function, and names a pool of sessions.",
    ]);
    expect(shown(await diagnosticsOf("tasks:\n  a: { call: fetch, limits: { memory: 1GiB } }\n"))).toEqual([
      "2:21 error PLAN_UNSUPPORTED tasks.a has limits, and a function cannot be held to them.",
    ]);
  });

  test("say of a plan with a wrong head what is wrong with its tasks too", async () => {
    const text = "nmae: x\nresources: { a: -1 }\ntasks:\n  a: { run: 1 }\n";
    expect((await diagnosticsOf(text)).map(({ code, line }) => `${line} ${code}`)).toEqual([
      "1 PLAN_KEY_UNKNOWN",
      "2 PLAN_VALUE",
      "4 PLAN_TYPE",
    ]);
  });

  test("have the same places in JSON, in plain YAML and in YAML for the full parser", async () => {
    const text =
      '{ "tasks": {\n  "a": { "run": 1, "retry": { "on": [1, 999] } },\n  "b": { "run": "x", "nope": 1 } } }\n';
    const expected = ["2:17 PLAN_TYPE", "2:41 PLAN_VALUE", "3:22 PLAN_KEY_UNKNOWN"];
    const placed = async (written: string, file: string) =>
      (await diagnosticsOf(written, {}, file)).map(({ line, column, code }) => `${line}:${column} ${code}`);
    expect(await placed(text, "plan.json")).toEqual(expected);
    expect(await placed(text.replace("1 } } }", "1, } } }"), "plan.yaml")).toEqual(expected);
  });

  test("count columns as an editor does, after a byte order mark and a wide character too", async () => {
    expect(shown(await diagnosticsOf("\ufefftasks: { a: { run: x, title: 😀, nope: 1 } }\n"))).toEqual([
      '1:34 error PLAN_KEY_UNKNOWN "nope" is not a field of a task.',
    ]);
  });

  test("of what came from an alias or from defaults point at the nearest thing that is written", async () => {
    const text = "x-b: &b { retry: { attempts: 0 } }\ntasks:\n  a:\n    <<: *b\n    run: x\n";
    expect(shown(await diagnosticsOf(text))).toEqual([
      "3:3 error PLAN_VALUE tasks.a.retry.attempts must be a whole number from 1 to 1000, not 0.",
    ]);
  });

  test("stop at two hundred, and say how many more there are", async () => {
    const tasks = Array.from({ length: 1_000 }, (_, no) => `  t${no}: { run: x, needs: [nope${no}], bad: 1 }\n`).join(
      "",
    );
    const diagnostics = await diagnosticsOf(`tasks:\n${tasks}`);
    expect(diagnostics).toHaveLength(201);
    expect(diagnostics.at(-1)).toMatchObject({ code: "PLAN_MORE", message: "And 1800 more problems." });
  });

  test("show a long circle by its two ends", async () => {
    const tasks = Array.from(
      { length: 1_000 },
      (_, no) => `  t${no}: { run: x, needs: [t${(no + 1) % 1_000}] }\n`,
    ).join("");
    const [circle] = await diagnosticsOf(`tasks:\n${tasks}`);
    expect(circle?.message).toMatch(/: t0 → t1 → .* → \(981 more\) → .* → t999 → t0\.$/);
  });

  test("call a file that is too large by its size, and read nothing of it", async () => {
    expect(shown(await diagnosticsOf("tasks: { a: { run: x } }", { bytesMax: 10 }))).toEqual([
      "1:1 error PLAN_TOO_LARGE The plan has 24 bytes; at most 10 are read.",
    ]);
  });
});

describe("tasks that touch the same files", () => {
  const TWO = "tasks:\n  a: { run: x, writes: [dist/] }\n  b:\n    run: x\n    reads: [src/, dist/app.js]\n";

  test("are a warning, and with strict an error", async () => {
    const message = "PLAN_HAZARD a writes dist/ and b reads dist/app.js, and neither waits for the other.";
    expect(shown(await diagnosticsOf(TWO))).toEqual([`5:19 warning ${message}`]);
    expect((await parse(TWO)).ok).toBe(true);
    expect(shown(await diagnosticsOf(TWO, { strict: true }))).toEqual([`5:19 error ${message}`]);
    expect((await parse(TWO, { strict: true })).ok).toBe(false);
  });

  test("are named pair by pair up to fifty, and then counted", async () => {
    const tasks = Array.from({ length: 20 }, (_, no) => `  t${no}: { run: x, writes: [out] }\n`).join("");
    const diagnostics = await diagnosticsOf(`tasks:\n${tasks}`);
    expect(diagnostics).toHaveLength(51);
    expect(diagnostics[0]?.message).toBe(
      "140 more pairs of tasks touch the same files, and neither waits for the other.",
    );
  });

  test("are looked for within bounds, and that is said", async () => {
    const tasks = Array.from({ length: 2_000 }, (_, no) => `  t${no}: { run: x, writes: ["*/${no}*"] }\n`).join("");
    expect((await diagnosticsOf(`tasks:\n${tasks}`)).map(({ code }) => code)).toContain("PLAN_HAZARD_LIMIT");
  });
});

describe("a request that can never be met", () => {
  const TASK = "tasks:\n  a: { run: x, requires: [gpu], resources: { cpu: 4, claud: 1 } }\n";

  test("is one for more than the plan names; what it does not name may come from elsewhere", async () => {
    expect(await diagnosticsOf(TASK)).toEqual([]);
    expect(shown(await diagnosticsOf(`resources: { cpu: 2 }\n${TASK}`))).toEqual([
      "3:51 error PLAN_IMPOSSIBLE a asks for 4 of cpu, but there is never more than 2.",
    ]);
  });

  test("is one for more than the machine has, or for what no worker can do, when these are known", async () => {
    const options = { capacity: { cpu: 2_000, claude: 1 }, capabilities: ["cpu"] };
    const diagnostics = await diagnosticsOf(TASK, options);
    expect(shown(diagnostics)).toEqual([
      '2:27 error PLAN_IMPOSSIBLE a requires "gpu", which no worker has.',
      "2:51 error PLAN_IMPOSSIBLE a asks for 4 of cpu, but there is never more than 2.",
      "2:61 error PLAN_IMPOSSIBLE a asks for 1 of claud, but there is never more than 0.",
    ]);
    expect(diagnostics[2]?.hint).toBe('Did you mean "claude"?');
  });

  test("is measured against the smaller of what the plan and the machine have", async () => {
    const text = `resources: { cpu: 8, claud: 1 }\n${TASK}`;
    expect(shown(await diagnosticsOf(text, { capacity: { cpu: 2_000 } }))).toEqual([
      "3:51 error PLAN_IMPOSSIBLE a asks for 4 of cpu, but there is never more than 2.",
    ]);
  });
});

describe("an id that could be a path, an option or a command", () => {
  const ESCAPES = [
    "..",
    "../x",
    "..\\x",
    "/etc/passwd",
    "a/../../x",
    "%2e%2e%2f",
    "..%2f",
    "..;/",
    "\u2024\u2024/",
    "\uff0e\uff0e/",
    "~/x",
    "$HOME",
    "`id`",
    "$(id)",
    "a;b",
    "a|b",
    "a&b",
    "a\nb",
    "a\u0000b",
    "CON:",
    "C:\\x",
    "\\\\host\\x",
    "file:///x",
    "-rf",
    "--help",
    ".git",
    ".",
    " ",
    "",
    "a b",
    "a\tb",
    "\u202ea",
    "\ufeffa",
    "a\u200b",
    "\u0430dmin",
    "caf\u00e9",
    "x".repeat(129),
    "*",
    "?",
    "[a]",
    "{a}",
  ];
  const WRAPS = [
    (raw: string) => raw,
    (raw: string) => `${raw}/x`,
    (raw: string) => `x/${raw}`,
    (raw: string) => `${raw}\u0000.log`,
    (raw: string) => `./${raw}`,
    (raw: string) => `${raw}/../../y`,
    (raw: string) => `a\\${raw}`,
    (raw: string) => `${raw} `,
    (raw: string) => ` ${raw}`,
    (raw: string) => `${raw}\n`,
    (raw: string) => `${raw}%00`,
    (raw: string) => `@${raw}`,
    (raw: string) => `${raw}:x`,
  ];
  const ids = ESCAPES.flatMap((raw) => WRAPS.map((wrap) => wrap(raw)));

  test(`is never one, in any of ${ids.length} ways to write it`, async () => {
    expect(ids.length).toBeGreaterThanOrEqual(500);
    for (const id of ids) {
      const named = JSON.stringify({ tasks: { [id]: { run: "x" } } });
      const listed = JSON.stringify({ tasks: [{ id, run: "x" }] });
      const needed = JSON.stringify({ tasks: { a: { run: "x", needs: [id] } } });
      for (const text of [named, listed, needed]) {
        const errors = (await diagnosticsOf(text, {}, "plan.json")).filter(({ severity }) => severity === "error");
        const codes = errors.map(({ code }) => code);
        expect(codes, text).toEqual(["PLAN_ID"]);
      }
    }
  });
});

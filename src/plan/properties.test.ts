import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { always } from "../../test/rig/property.ts";
import { PRIORITIES } from "../domain/spec.ts";
import { DIAGNOSTICS } from "./check/diagnostics.ts";
import { type Plan, parsePlan } from "./plan.ts";

const RUNS = 300;
const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

/** Every input gives a plan, or diagnostics that point into the file; parsing never throws. */
async function expectAnAnswer(bytes: Uint8Array, file: string): Promise<void> {
  const result = await parsePlan(bytes, file);
  const diagnostics = result.ok ? result.value.warnings : result.error;
  if (!result.ok) expect(diagnostics.some(({ severity }) => severity === "error")).toBe(true);
  const lines = new TextDecoder().decode(bytes).split("\n");
  for (const { line, column, code, message, hint } of diagnostics) {
    const isPlaced = line > 0 && column > 0 && column <= (lines[line - 1]?.length ?? -1) + 1;
    const isSaid = Object.hasOwn(DIAGNOSTICS, code) && message.length > 0 && message.length < 1_000 && hint.length > 0;
    expect([isPlaced, isSaid], `${line}:${column} ${code} ${message}`).toEqual([true, true]);
  }
}

const YAML = `name: release
x-base: &base { retry: { attempts: 2 } }
resources: { claude: 2, tokens: 400k/min }
defaults: { env: { CI: 1 }, timeout: 10m }
tasks:
  fetch: { run: ./fetch.sh, writes: [src/] }
  10:
    <<: *base
    run: [make, "build all"]
    needs: [fetch]
    matrix: { os: [linux, mac] }
  test:
    run: |
      set -e
      npm test
    after: [10]
    resources: { cpu: 2, memory: 4GiB, claude: 1 }
`;
const JSON_PLAN =
  '{"name":"x","tasks":{"2":{"run":"x"},"1":{"run":["y","z"],"needs":["2"],"env":{"A":"1"},"timeout":{"soft":"1m"}}}}';

const changed = (text: string): fc.Arbitrary<string> => {
  const add = fc.oneof(
    fc.constantFrom(
      ..." \n:#-'\"[]{},|>&*!%@`~\t\r\\?0".split(""),
      "__proto__",
      "constructor: 1",
      "<<: ",
      "null",
      "*base",
      "\u202e",
      "-1",
      "1e999",
    ),
    fc.string({ unit: "binary", maxLength: 3 }),
  );
  const change = fc.tuple(fc.nat(text.length), add, fc.nat(6));
  return fc
    .array(change, { minLength: 1, maxLength: 5 })
    .map((changes) => changes.reduce((so, [at, word, drop]) => so.slice(0, at) + word + so.slice(at + drop), text));
};

describe("parsing", () => {
  test("has an answer to any bytes", async () => {
    const name = fc.constantFrom("plan.yaml", "plan.json");
    await always(RUNS, fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), name, expectAnAnswer));
  });

  test("has an answer to plans in which a few characters were changed", async () => {
    await always(
      RUNS,
      fc.asyncProperty(changed(YAML), (text) => expectAnAnswer(encode(text), "plan.yaml")),
    );
    await always(
      RUNS,
      fc.asyncProperty(changed(JSON_PLAN), (text) => expectAnAnswer(encode(text), "plan.json")),
    );
  });

  test("has an answer to plans with a value of the wrong kind anywhere", async () => {
    const wrong = fc.jsonValue({ maxDepth: 2 });
    const task = fc.dictionary(fc.constantFrom(...TASK_FIELDS), wrong, { maxKeys: 4 });
    const plan = fc.record(
      {
        name: wrong,
        tasks: fc.oneof(wrong, fc.dictionary(fc.string({ maxLength: 3 }), task)),
        defaults: task,
        resources: wrong,
      },
      { requiredKeys: ["tasks"] },
    );
    await always(
      RUNS,
      fc.asyncProperty(plan, (value) => expectAnAnswer(encode(JSON.stringify(value)), "plan.json")),
    );
  });
});

const TASK_FIELDS = [
  "run",
  "needs",
  "after",
  "env",
  "retry",
  "timeout",
  "resources",
  "matrix",
  "reads",
  "writes",
  "gate",
  "limits",
  "labels",
  "cwd",
];

/** A plan written out in full, as JSON that means the same. */
function written(plan: Plan): string {
  const command = (run: Plan["tasks"][number]["run"]) =>
    "shell" in run ? run.shell : "argv" in run ? run.argv : undefined;
  const ms = (span: number | undefined) => (span === undefined ? undefined : `${span}ms`);
  const amounts = ({ cpu, memory, ...named }: Readonly<Record<string, number>>) => ({
    ...(cpu !== undefined && { cpu: `${cpu}m` }),
    ...(memory !== undefined && { memory: `${memory}B` }),
    ...named,
  });
  const rates = Object.entries(plan.rates).map(([name, { amount, per }]) => [
    name,
    `${amount}/${per === 60_000 ? "min" : "h"}`,
  ]);
  const tasks = plan.tasks.map(({ retry, timeout, memoryLimit, ...task }) => ({
    ...task,
    run: command(task.run),
    verify: task.verify === undefined ? undefined : command(task.verify),
    resources: amounts(task.resources),
    progress: ms(task.progress),
    estimate: ms(task.estimate),
    retry: { ...retry, backoff: ms(retry.backoff), max: ms(retry.max) },
    timeout: { soft: ms(timeout.soft), hard: ms(timeout.hard) },
    limits: memoryLimit === undefined ? undefined : { memory: `${memoryLimit}B` },
  }));
  const resources = { ...amounts(plan.resources), ...Object.fromEntries(rates) };
  return JSON.stringify({ name: plan.name, description: plan.description, resources, tasks });
}

describe("a plan", () => {
  const word = fc.stringMatching(/^[a-z][a-z0-9]{0,5}$/).filter((raw) => !["constructor", "prototype"].includes(raw));
  const wide = fc
    .string({ unit: "grapheme", minLength: 1, maxLength: 10 })
    .filter((raw) => raw.trim() !== "" && raw.isWellFormed() && !raw.includes("\u0000"));
  const seen = wide.filter((raw) => !/[\p{Cc}\u2028-\u202e\u2066-\u2069]/u.test(raw));
  const span = fc.integer({ min: 1, max: 10_000_000 }).map((ms) => `${ms}ms`);
  const command = fc.oneof(wide, fc.array(wide, { minLength: 1, maxLength: 3 }));
  const path = fc.constantFrom("a", "a/", "a/*.ts", "./b//c", "**/x", "café/");
  const amounts = fc.record(
    {
      cpu: fc.oneof(fc.nat(64), fc.constant("250m"), fc.constant(0.125)),
      memory: fc.nat(1e6).map((n) => `${n}KiB`),
      claude: fc.nat(9),
    },
    { requiredKeys: [] },
  );
  const common = {
    title: seen,
    priority: fc.constantFrom(...PRIORITIES),
    onFailure: fc.constantFrom("skip", "continue"),
    requires: fc.array(word, { maxLength: 2 }),
    resources: amounts,
    reads: fc.array(path, { maxLength: 2 }),
    writes: fc.array(path, { maxLength: 2 }),
    env: fc.dictionary(word, fc.oneof(wide, fc.integer(), fc.boolean(), fc.constant({ from: "TOKEN" })), {
      maxKeys: 3,
    }),
    cwd: fc.constantFrom("app", "./x/../y", "/tmp"),
    retry: fc.record(
      {
        attempts: fc.integer({ min: 1, max: 1000 }),
        backoff: span,
        factor: fc.double({ min: 1, max: 1000, noNaN: true }),
        on: fc.array(fc.nat(255)),
      },
      { requiredKeys: [] },
    ),
    timeout: fc.oneof(span, fc.record({ hard: span }, { requiredKeys: [] })),
    progress: span,
    estimate: span,
    gate: fc.oneof(fc.boolean(), seen),
    verify: command,
    limits: fc.record({ memory: fc.nat(1e6).map((n) => `${n}MiB`) }),
    labels: fc.dictionary(word, fc.oneof(wide, fc.integer()), { maxKeys: 2 }),
  };
  const task = fc.record(
    {
      run: command,
      needs: fc.array(fc.nat(5), { maxLength: 3 }),
      after: fc.array(fc.nat(5), { maxLength: 3 }),
      ...common,
    },
    { requiredKeys: ["run", "needs", "after"] },
  );
  const plan = fc.record(
    {
      name: seen,
      description: wide,
      resources: fc.constant({ cpu: 100, memory: "1TiB", claude: 10, tokens: "400k/min", calls: "5/h" }),
      defaults: fc.record(common, { requiredKeys: [] }),
      tasks: fc.array(task, { minLength: 1, maxLength: 6 }).map((tasks) => {
        // Each task waits only for tasks before it, and ids are numbers in an order of their own.
        const ids = (nos: readonly number[], own: number) => nos.filter((no) => no < own).map((no) => String(10 - no));
        return tasks.map((one, no) => ({
          ...one,
          id: String(10 - no),
          needs: ids(one.needs, no),
          after: ids(one.after, no),
        }));
      }),
    },
    { requiredKeys: ["tasks"] },
  );

  test("written out in full and read again is the same plan", async () => {
    const isSame = fc.asyncProperty(plan, async (value) => {
      const first = await parsePlan(encode(JSON.stringify(value)), "plan.json");
      expect(first.ok ? [] : first.error).toEqual([]);
      if (!first.ok) return;
      const second = await parsePlan(encode(written(first.value.plan)), "plan.json");
      expect(second.ok ? [] : second.error).toEqual([]);
      if (!second.ok) return;
      const { graph: _, ...once } = first.value.plan;
      const { graph: __, ...again } = second.value.plan;
      expect(again).toEqual(once);
    });
    await always(RUNS, isSame);
  });
});

import { describe, expect, test } from "vitest";
import { SPEC_DEFAULTS } from "../domain/spec.ts";
import { type ParseOptions, type Plan, parsePlan } from "./plan.ts";

const parse = (text: string, options: ParseOptions = {}, file = "plan.yaml") =>
  parsePlan(new TextEncoder().encode(text), file, options);

async function planOf(text: string, options: ParseOptions = {}, file = "plan.yaml"): Promise<Plan> {
  const result = await parse(text, options, file);
  expect(result.ok ? [] : result.error).toEqual([]);
  if (!result.ok) throw new Error("the plan was refused");
  return result.value.plan;
}

const ids = (plan: Plan): readonly string[] => plan.tasks.map(({ id }) => id);

describe("a plan", () => {
  test("is read into specs with every default filled in", async () => {
    const plan = await planOf("name: x\ntasks:\n  a: { run: make }\n  b: { run: [make, b], needs: [a] }\n");
    const { graph, ...rest } = plan;
    expect(rest).toEqual({
      name: "x",
      resources: {},
      rates: {},
      tasks: [
        { ...SPEC_DEFAULTS, id: "a", run: { shell: "make" } },
        { ...SPEC_DEFAULTS, id: "b", run: { argv: ["make", "b"] }, needs: ["a"] },
      ],
    });
    expect([graph.size, graph.edges]).toEqual([2, 1]);
  });

  test("shares the defaults between tasks instead of copying them", async () => {
    const { tasks } = await planOf("defaults: { env: { CI: 1 } }\ntasks: { a: { run: x }, b: { run: y } }\n");
    expect(tasks[0]?.env).toBe(tasks[1]?.env);
    expect(tasks[0]?.retry).toBe(SPEC_DEFAULTS.retry);
    expect(tasks[0]?.needs).toBe(tasks[1]?.needs);
  });

  test("says what it weighs, whom it belongs to, and which services its tasks depend on", async () => {
    const text =
      "weight: 3\ntenant: acme\ndefaults: { provider: anthropic }\ntasks: { a: { run: x }, b: { run: x, provider: github } }\n";
    const plan = await planOf(text);
    expect([plan.weight, plan.tenant]).toEqual([3, "acme"]);
    expect(plan.tasks.map(({ provider }) => provider)).toEqual(["anthropic", "github"]);
    const plain = await planOf("tasks: { a: { run: x } }\n");
    expect([plain.weight, plain.tenant, plain.tasks[0]?.provider]).toEqual([undefined, undefined, undefined]);
  });

  test.each([
    ["weight: 0", /from 1 to 1000/],
    ["weight: 1001", /from 1 to 1000/],
    ["weight: 1.5", /whole number/],
    ["tenant: a b", /letters, digits/],
    ["tenant: 7", /a name/],
  ])("cannot say `%s`", async (line, message) => {
    const result = await parse(`${line}\ntasks: { a: { run: x } }\n`);
    expect(result.ok ? [] : result.error.map((each) => each.message)).toEqual([expect.stringMatching(message)]);
  });

  test("turns every field into the units the scheduler counts in", async () => {
    const text = `
resources: { claude: 2, cpu: 4, memory: 8GiB, tokens: 400k/min }
tasks:
  a:
    title: Build
    run: make
    onFailure: continue
    priority: high
    requires: [gpu]
    resources: { cpu: 0.5, memory: 1.5GiB, gpu: 1, claude: 1, tokens: 30k }
    reads: [./src//]
    writes: [dist]
    env: { A: 1, B: true, C: x, D: { from: TOKEN } }
    cwd: app
    retry: { attempts: 3, backoff: 1s, factor: 1.5, max: 1m, on: [75] }
    timeout: { soft: 90s, hard: 2m }
    progress: 5m
    estimate: 0s
    gate: Go?
    verify: [test, -f, dist]
    limits: { memory: 1GiB }
    labels: { team: 7 }
`;
    const plan = await planOf(text);
    expect(plan.resources).toEqual({ claude: 2, cpu: 4_000, memory: 8 * 2 ** 30 });
    expect(plan.rates).toEqual({ tokens: { amount: 400_000, per: 60_000 } });
    expect(plan.tasks[0]).toEqual({
      id: "a",
      title: "Build",
      run: { shell: "make" },
      needs: [],
      after: [],
      onFailure: "continue",
      priority: "high",
      requires: ["gpu"],
      resources: { cpu: 500, memory: 1.5 * 2 ** 30, gpu: 1, claude: 1, tokens: 30_000 },
      reads: ["src/"],
      writes: ["dist"],
      env: { A: "1", B: "true", C: "x", D: { from: "TOKEN" } },
      cwd: "app",
      retry: { attempts: 3, backoff: 1_000, factor: 1.5, max: 60_000, on: [75] },
      timeout: { soft: 90_000, hard: 120_000 },
      progress: 300_000,
      estimate: 0,
      gate: "Go?",
      verify: { argv: ["test", "-f", "dist"] },
      memoryLimit: 2 ** 30,
      labels: { team: "7" },
    });
  });

  test.each([
    ["cpu: 2", { cpu: 2_000 }],
    ["cpu: 250m", { cpu: 250 }],
    ["cpu: 0.30000000000000004", { cpu: 300 }],
    ["memory: 4GiB", { memory: 4 * 2 ** 30 }],
    ["slots: 1M", { slots: 1_000_000 }],
    ["slots: 1.5k", { slots: 1_500 }],
  ])("reads the amount %s exactly", async (written, amounts) => {
    expect((await planOf(`tasks: { a: { run: x, resources: { ${written} } } }`)).tasks[0]?.resources).toEqual(amounts);
  });

  test("merges maps with the defaults key by key, and replaces all else", async () => {
    const text = `
defaults:
  retry: { attempts: 3, backoff: 1s }
  timeout: { soft: 1m, hard: 2m }
  env: { A: "1", B: "1" }
  labels: { team: core }
  resources: { cpu: 1 }
  reads: [src]
  gate: true
  priority: low
  limits: { memory: 1GiB }
tasks:
  a:
    run: x
    retry: { backoff: 2s }
    timeout: 5m
    env: { B: "2", C: "2" }
    resources: { claude: 1 }
    reads: [lib]
    gate: false
  b: { run: x }
`;
    const [a, b] = (await planOf(text)).tasks;
    expect(a).toMatchObject({
      retry: { attempts: 3, backoff: 2_000, factor: 2 },
      timeout: { soft: 60_000, hard: 300_000 },
      env: { A: "1", B: "2", C: "2" },
      resources: { cpu: 1_000, claude: 1 },
      reads: ["lib"],
      labels: { team: "core" },
      priority: "low",
      memoryLimit: 2 ** 30,
    });
    expect(a).not.toHaveProperty("gate");
    expect(b?.gate).toBe("May b start?");
  });

  test("has a default limit held where tasks are run, and not claim to hold the sessions of a pool to it", async () => {
    const text = "defaults: { limits: { memory: 1GiB } }\ntasks:\n  a: { run: x }\n  b: { run: x, pool: agents }\n";
    expect((await planOf(text)).tasks.map(({ memoryLimit }) => memoryLimit)).toEqual([2 ** 30, undefined]);
  });

  test.each([
    ["YAML", "tasks:\n  b: { run: x }\n  10: { run: x }\n  9: { run: x }\n  a: { run: x }\n", "plan.yaml"],
    ["YAML that needs the full parser", "tasks:\n  b: &b { run: x }\n  10: *b\n  9: *b\n  a: *b\n", "plan.yaml"],
    ["JSON", '{"tasks":{"b":{"run":"x"},"10":{"run":"x"},"9":{"run":"x"},"a":{"run":"x"}}}', "plan.json"],
    [
      "a list",
      "tasks: [{ id: b, run: x }, { id: '10', run: x }, { id: '9', run: x }, { id: a, run: x }]\n",
      "plan.yaml",
    ],
  ])("keeps the order of tasks whose ids are numbers, in %s", async (_, text, file) => {
    expect(ids(await planOf(text, {}, file))).toEqual(["b", "10", "9", "a"]);
  });

  test("is called after its file when it has no name", async () => {
    expect((await planOf("tasks: { a: { run: x } }", {}, "/some/where/nightly.build.yaml")).name).toBe("nightly.build");
    expect((await planOf("tasks: { a: { run: x } }", {}, ".rota")).name).toBe(".rota");
  });

  test("may have notes of its own under keys that begin with x-", async () => {
    expect(ids(await planOf("x-owner: me\ntasks: { a: { run: x } }\n"))).toEqual(["a"]);
  });

  test("takes merge keys, and a task's own key wins over what is merged", async () => {
    const text = "x-b: &b { priority: low, cwd: x }\ntasks:\n  a: { run: x, priority: high, <<: *b }\n";
    expect((await planOf(text)).tasks[0]).toMatchObject({ priority: "high", cwd: "x" });
  });
});

describe("a matrix", () => {
  const MATRIX = `
tasks:
  build:
    title: Build \${matrix.os}
    run: make OS=\${matrix.os} NODE=\${matrix.node} HOME=\${HOME}
    verify: [test, -d, "out/\${matrix.os}"]
    writes: ["out/\${matrix.os}/\${matrix.node}/"]
    env: { OS: "\${matrix.os}" }
    cwd: \${matrix.os}
    matrix: { os: [linux, mac os], node: [22, 24.5] }
  test: { run: x, needs: [build] }
  other: { run: x, after: [build-linux-22] }
`;

  test("makes one task for each combination, and fills in its values", async () => {
    const plan = await planOf(MATRIX);
    expect(ids(plan)).toEqual([
      "build-linux-22",
      "build-linux-24.5",
      "build-mac-os-22",
      "build-mac-os-24.5",
      "test",
      "other",
    ]);
    expect(plan.tasks[2]).toEqual({
      ...SPEC_DEFAULTS,
      id: "build-mac-os-22",
      title: "Build mac os",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: names that the matrix does not have are left to the shell.
      run: { shell: "make OS=mac os NODE=22 HOME=${HOME}" },
      verify: { argv: ["test", "-d", "out/mac os"] },
      writes: ["out/mac os/22/"],
      env: { OS: "mac os" },
      cwd: "mac os",
    });
  });

  test("is needed as a whole by its own name, or one by one", async () => {
    const { tasks } = await planOf(MATRIX);
    expect(tasks[4]?.needs).toEqual(["build-linux-22", "build-linux-24.5", "build-mac-os-22", "build-mac-os-24.5"]);
    expect(tasks[5]?.after).toEqual(["build-linux-22"]);
  });

  test("cannot make an id of two values that look the same once written as ids", async () => {
    const text = "tasks:\n  t: { run: x, matrix: { v: ['a b', a/b] } }\n";
    expect(await parse(text)).toMatchObject({ ok: false, error: [{ code: "PLAN_DUPLICATE", line: 2, column: 3 }] });
  });
});

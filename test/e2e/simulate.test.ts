/** `rota simulate` as its users meet it: nothing is run, so the whole of it is checked in this process. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { NOTHING } from "../../src/store/store.ts";
import { owner } from "../rig/builders.ts";
import { fakeTerminal, freshDir, rota, type Said, spawnRota } from "../rig/cli.ts";

const PLAN = `
name: release
resources: { claude: 2 }
tasks:
  fetch: { run: "exit 1", estimate: 2s }
  build: { run: "exit 1", needs: [fetch], estimate: 6s, priority: high }
  lint: { run: "exit 1", needs: [fetch], estimate: 1s, resources: { claude: 1 } }
  review: { run: "exit 1", needs: [fetch], estimate: 5s, resources: { claude: 2 }, gate: "Sure?" }
  test: { run: "exit 1", needs: [build], estimate: 4s, retry: { attempts: 3 } }
  ship: { run: "exit 1", needs: [test, lint, review] }
`;

interface Scene {
  readonly cwd: string;
  readonly simulate: (...args: string[]) => Promise<Said>;
  readonly write: (name: string, text: string) => void;
}

function scene(plan = PLAN): Scene {
  const cwd = freshDir();
  const write = (name: string, text: string): void => writeFileSync(join(cwd, name), text);
  write("plan.yaml", plan);
  return { cwd, write, simulate: (...args) => rota(["simulate", "plan.yaml", ...args], { cwd }) };
}

interface Simulated {
  readonly makespan_ms: number | null;
  readonly lower_bound_ms: number | null;
  readonly critical_path: readonly string[];
  readonly schedule: readonly { task: string; worker: string; start_ms: number; end_ms: number }[];
  readonly variants: readonly Record<string, unknown>[];
  readonly durations: Record<string, number>;
}

const read = ({ out }: Said): Simulated => JSON.parse(out) as Simulated;

describe("as JSON", () => {
  test("says when it would end, when at best, what decides that, and who does what when", async () => {
    const { simulate, cwd } = scene();
    const said = await simulate("--workers", "2", "--json");
    expect(said).toMatchObject({ code: 0, err: "" });
    const { makespan_ms, lower_bound_ms, critical_path, schedule } = read(said);
    expect({ makespan_ms, lower_bound_ms, critical_path, schedule }).toEqual({
      makespan_ms: 13_000,
      lower_bound_ms: 13_000,
      critical_path: ["fetch", "build", "test", "ship"],
      schedule: [
        { task: "fetch", worker: "local/1", start_ms: 0, end_ms: 2_000 },
        { task: "build", worker: "local/1", start_ms: 2_000, end_ms: 8_000 },
        { task: "review", worker: "local/2", start_ms: 2_000, end_ms: 7_000 },
        { task: "lint", worker: "local/2", start_ms: 7_000, end_ms: 8_000 },
        { task: "test", worker: "local/2", start_ms: 8_000, end_ms: 12_000 },
        { task: "ship", worker: "local/2", start_ms: 12_000, end_ms: 13_000 },
      ],
    });
    expect(existsSync(join(cwd, ".rota"))).toBe(false);
  });

  test("has the use of every worker and resource", async () => {
    const { simulate } = scene();
    expect(read(await simulate("--workers", "2", "--json"))).toMatchObject({
      lower_bound_because: "path",
      use: 0.7308,
      workers: [
        { worker: "local/1", tasks: 2, busy_ms: 8_000, use: 0.6154 },
        { worker: "local/2", tasks: 4, busy_ms: 11_000, use: 0.8462 },
      ],
      resources: [{ name: "claude", capacity: 2, use: 0.4231 }],
      durations: { actual: 0, estimate: 5, history: 0, unknown: 1 },
      over_timeout: [],
      variants: [],
    });
  });

  test("is the same, byte for byte, every time", async () => {
    const { simulate } = scene();
    const args = ["--workers", "3", "--what-if", "workers=1", "--json"];
    const once = await simulate(...args);
    expect(await simulate(...args)).toEqual(once);
    expect(await simulate("--svg")).toEqual(await simulate("--svg"));
    expect(await simulate("--html")).toEqual(await simulate("--html"));
  });
});

describe("true durations", () => {
  test("change the schedule, and not what the scheduler believes", async () => {
    const { simulate, write } = scene();
    write("actual.json", JSON.stringify({ build: 1_000, review: 20_000, test: 1_000 }));
    const before = read(await simulate("--workers", "1", "--json"));
    const after = read(await simulate("--workers", "1", "--actual", "actual.json", "--json"));
    const order = ({ schedule }: Simulated): string[] => schedule.map(({ task }) => task);
    expect(order(after)).toEqual(order(before));
    expect([before.makespan_ms, after.makespan_ms]).toEqual([19_000, 26_000]);
    expect(after.durations).toEqual({ actual: 3, estimate: 2, history: 0, unknown: 1 });
  });

  test("of tasks that the plan has not are refused", async () => {
    const { simulate, write } = scene();
    write("actual.json", '{"biuld": 5}');
    const { code, err, out } = await simulate("--actual", "actual.json", "--json");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toMatch(/^DURATIONS_INVALID: actual\.json: the plan has no task "biuld"\. Did you mean "build"\?/);
  });

  test("are taken from earlier runs where the plan has no estimate", async () => {
    const { simulate, cwd } = scene();
    const store = openSqliteStore(join(cwd, ".rota", "rota.db"));
    await store.acquire(owner("test"));
    const durationSamples = [{ plan: "release", durationSamples: [{ task: "ship", logMs: Math.log(30_000) }] }];
    await store.commit({ ...NOTHING, epoch: 1, durationSamples });
    await store[Symbol.asyncDispose]();
    const found = read(await simulate("--workers", "2", "--json"));
    expect(found.makespan_ms).toBe(42_000);
    expect(found.durations).toEqual({ actual: 0, estimate: 5, history: 1, unknown: 0 });
    const elsewhere = read(await simulate("--workers", "2", "--state", "other", "--json"));
    expect(elsewhere.makespan_ms).toBe(13_000);
    expect(existsSync(join(cwd, "other"))).toBe(false);
  });
});

describe("what if", () => {
  test("compares with the plan as it is", async () => {
    const { simulate } = scene();
    const args = ["--what-if", "workers=2", "--what-if", "workers=3,claude=1", "--what-if", "nodes=2"];
    const { variants } = read(await simulate("--workers", "1", ...args, "--json"));
    expect(variants).toEqual([
      {
        what_if: "workers=2",
        makespan_ms: 13_000,
        lower_bound_ms: 13_000,
        lower_bound_because: "path",
        use: 0.7308,
        change_percent: -31.58,
      },
      {
        what_if: "workers=3,claude=1",
        makespan_ms: null,
        lower_bound_ms: null,
        lower_bound_because: null,
        use: 0.3611,
        stalled: [
          { task: "review", reason: "no-match", why: "asks for 2 claude but there is only 1" },
          { task: "ship", reason: "needs", why: "needs review" },
        ],
        change_percent: null,
      },
      {
        what_if: "nodes=2",
        makespan_ms: 13_000,
        lower_bound_ms: 13_000,
        lower_bound_because: "path",
        use: 0.7308,
        change_percent: -31.58,
      },
    ]);
  });

  test("says what would stand still with nothing at all of something", async () => {
    const task = "{ run: 'true', resources: { claude: 1 } }";
    const { simulate } = scene(`name: p\nresources: { claude: 2 }\ntasks:\n  a: ${task}\n  b: ${task}\n  c: ${task}\n`);
    const { out } = await simulate("--what-if", "claude=0");
    expect(out).toContain("\n  claude=0: a asks for 1 claude but there is none (and 2 more tasks cannot start)\n");
  });

  test("refuses what the plan does not know, before anything is worked out", async () => {
    const { simulate } = scene();
    const { code, err } = await simulate("--what-if", "claud=3");
    expect(code).toBe(2);
    expect(err).toBe(
      'USAGE: --what-if claud=3: the plan has no resource "claud". Did you mean "claude"? ' +
        "(It can be: workers, nodes, priorities, cpu, memory, gpu, claude.)\n",
    );
  });
});

test("the settings of the scheduler are those of a run", async () => {
  const lanes = Array.from({ length: 12 }, (_, at) => `  c${at}: { run: x, priority: critical }`);
  const { cwd, simulate } = scene(["tasks:", "  low: { run: x, priority: low }", ...lanes].join("\n"));
  const env = { ROTA_PRIORITIES: "strict", ROTA_WORKERS: "1" };
  const order = (said: Said): string[] => read(said).schedule.map(({ task }) => task);
  expect(order(await rota(["simulate", "plan.yaml", "--json"], { cwd, env })).at(-1)).toBe("low");
  expect(order(await simulate("--workers", "1", "--json")).at(-1)).not.toBe("low");
});

describe("a plan that cannot be finished", () => {
  const STUCK = `
name: stuck
resources: { cpu: 4 }
tasks:
  big: { run: "true", resources: { cpu: 8, memory: 1TiB } }
  after: { run: "true", needs: [big] }
  odd: { run: "true", requires: [wings] }
  typo: { run: "true", resources: { claud: 1 } }
  fine: { run: "true" }
`;

  test("that asks for more than it declares itself is a bad plan", async () => {
    const { simulate } = scene(STUCK);
    const { code, err } = await simulate();
    expect(code).toBe(2);
    expect(err).toMatch(/PLAN_IMPOSSIBLE: big asks for 8 of cpu/);
  });

  test("ends with exit code 3, and says why", async () => {
    const { simulate } = scene(STUCK.replace("cpu: 8, memory: 1TiB", "memory: 1000TiB"));
    const { code, out, err } = await simulate("--workers", "2");
    expect({ code, err }).toEqual({ code: 3, err: "" });
    expect(out.replace(/only \d.*?B\b/, "only 8GiB")).toMatchInlineSnapshot(`
      "‖ stuck cannot be finished: 4 of 5 tasks can never start
        durations  5 unknown, taken as 1s

      ○ big   asks for 1000TiB memory but there is only 8GiB  behind it: after
      ○ odd   no worker has wings
      ○ typo  asks for 1 claud but there is none

      Use
        local/1  ████████████████████  100%  1 task
        local/2  ░░░░░░░░░░░░░░░░░░░░    0%  0 tasks

        ✔ fine ████████████████████████████████████████████████████████████████████████████████ 1s
               ╵0s             ╵200ms          ╵400ms          ╵600ms          ╵800ms
      "
    `);
  });

  test("has no length as JSON", async () => {
    const { simulate } = scene(STUCK.replace("cpu: 8, memory: 1TiB", "cpu: 4, gpu: 1"));
    const said = await simulate("--workers", "2", "--json");
    expect(said.code).toBe(3);
    const { makespan_ms, lower_bound_ms, schedule } = read(said);
    expect({ makespan_ms, lower_bound_ms }).toEqual({ makespan_ms: null, lower_bound_ms: null });
    expect(schedule.map(({ task }) => task)).toEqual(["fine"]);
  });
});

describe("a machine", () => {
  const WIDE = `
resources: { cpu: 64 }
tasks:
  a: { run: "true", resources: { cpu: 40 } }
  b: { run: "true", resources: { cpu: 24 } }
  c: { run: "true", resources: { cpu: 24 } }
`;

  test("is as large as the plan says, whatever this one has", async () => {
    const { simulate } = scene(WIDE);
    const found = read(await simulate("--workers", "3", "--what-if", "cpu=128", "--what-if", "nodes=2", "--json"));
    expect(found.makespan_ms).toBe(2_000);
    expect(found.variants.map(({ makespan_ms }) => makespan_ms)).toEqual([1_000, 1_000]);
  });
});

describe("on a terminal", () => {
  test("shows how long, how close to the best, what decides it, what is used, and what if", async () => {
    const { simulate } = scene();
    const { out } = await simulate("--workers", "2", "--what-if", "workers=1", "--what-if", "workers=4,claude=1");
    expect(out).toMatchInlineSnapshot(`
      "✔ release would take 13s  6 tasks on 2 workers
        lower bound    13s: the longest chain of tasks (reached: nothing can be faster)
        work           19s, 1.5× as fast as one after the other
        critical path  fetch → build → test → ship
        durations      5 estimated by the plan · 1 unknown, taken as 1s

      Use
        local/1  ████████████░░░░░░░░  62%  2 tasks
        local/2  █████████████████░░░  85%  4 tasks
        claude   ████████░░░░░░░░░░░░  42%  of 2

        ✔ fetch  ████████████                                                                   2s
        ✔ build              ████████████████████████████████████                               6s
        ✔ review             ██████████████████████████████                                     5s
        ✔ lint                                             ██████                               1s
        ✔ test                                                   ████████████████████████       4s
        ✔ ship                                                                           ██████ 1s
                 ╵0s         ╵2s         ╵4s         ╵6s         ╵8s         ╵10s        ╵12s

      What if
                            makespan  change  lower bound   use
        as it is                 13s                  13s   73%
        workers=1                19s    +46%          19s  100%
        workers=4,claude=1     never
        workers=4,claude=1: review asks for 2 claude but there is only 1
      "
    `);
  });

  test("fits the terminal, and speaks ASCII where that is all it shows", async () => {
    const { cwd } = scene();
    const terminal = fakeTerminal({ columns: 60 });
    const args = ["simulate", "plan.yaml", "--workers", "2", "--what-if", "workers=1"];
    const { out } = await rota(args, { cwd, terminal, env: { LANG: "C" } });
    expect(Math.max(...out.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
    expect(out).toMatch(/^[\x20-\x7e\n]+$/);
  });

  test("says which tasks would be stopped by their time-out", async () => {
    const { simulate } = scene("tasks: { slow: { run: x, estimate: 2h }, fast: { run: x } }");
    const { out } = await simulate("--workers", "1");
    expect(out).toContain("time-outs      would stop 1 task, but not here: slow");
  });
});

describe("as a picture", () => {
  test("goes to a file when asked to", async () => {
    const { simulate, cwd } = scene();
    const { code, out, err } = await simulate("--workers", "2", "--what-if", "workers=<b>1", "--html", "-o", "a.html");
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain("workers must be a whole number");
    const said = await simulate("--workers", "2", "--what-if", "workers=1", "--html", "-o", "a.html");
    expect(said).toEqual({ code: 0, out: "", err: "Wrote a.html.\n" });
    const page = readFileSync(join(cwd, "a.html"), "utf8");
    expect(page).toContain("<h1>release would take 13s on 2 workers</h1>");
    expect(page).toContain("<td>workers=1</td>");
    expect(page).toContain("<svg ");
    expect((await simulate("--workers", "2", "--svg")).out).toMatch(/^<svg [\s\S]*local\/2[\s\S]*<\/svg>\n$/);
  });

  test("of two kinds at once is refused", async () => {
    const { simulate } = scene();
    const { code, err } = await simulate("--svg", "--json");
    expect(code).toBe(2);
    expect(err).toContain("--json and --svg cannot be asked for at once");
  });
});

test("a plan that cannot be read, or is no plan, ends with exit code 2", async () => {
  const { simulate, cwd } = scene("tasks: { a: { run: x, needs: [b] } }");
  expect(await simulate()).toMatchObject({ code: 2, err: expect.stringContaining("PLAN_INVALID") });
  const missing = await rota(["simulate", "none.yaml"], { cwd });
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining("PLAN_UNREADABLE") });
});

test("ten thousand tasks are a matter of seconds, through the program itself", async () => {
  const tasks = Object.fromEntries(
    Array.from({ length: 10_000 }, (_, at) => [
      `t${at}`,
      { run: "x", needs: at < 8 ? [] : [`t${at - 8}`, `t${at - 5}`] },
    ]),
  );
  const { cwd, write } = scene();
  write("big.json", JSON.stringify({ tasks }));
  const said = await spawnRota(["simulate", "big.json", "--workers", "8", "--json"], { cwd });
  expect(said.code).toBe(0);
  const { schedule, makespan_ms, lower_bound_ms } = read(said);
  expect(schedule).toHaveLength(10_000);
  expect(makespan_ms).toBeGreaterThanOrEqual(lower_bound_ms as number);
});

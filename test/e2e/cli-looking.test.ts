/** Commands that only look: at a history made by the real engine on a manual clock, so that every word of them is known. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { stateDir } from "../../src/app/config/state.ts";
import { runId, taskId } from "../../src/domain/ids.ts";
import type { TaskSpec } from "../../src/domain/spec.ts";
import { instant, millis, seconds } from "../../src/domain/time.ts";
import { hostName } from "../../src/effects/machine.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { exit, manifest, success, task } from "../rig/builders.ts";
import { fakeTerminal, freshDir, rota } from "../rig/cli.ts";
import { openRig, type Rig } from "../rig/rig.ts";

interface Scene {
  readonly rig: Rig;
  readonly cwd: string;
  /** Runs a command on it. */
  readonly look: (...args: string[]) => ReturnType<typeof rota>;
  readonly log: (task: string, attempt: number, text: string) => void;
  /** The scheduler lets go of the state directory. */
  readonly leave: () => Promise<void>;
}

async function openScene(specs: readonly TaskSpec[], id = "release-abc123"): Promise<Scene> {
  const cwd = freshDir();
  const state = stateDir(join(cwd, ".rota"));
  // Its scheduler is this test: to others it is one of another host, which lives.
  const store = openSqliteStore(state.database, { lives: () => false });
  onTestFinished(() => store[Symbol.asyncDispose]());
  const rig = await openRig({ store, host: "elsewhere", capacity: { cpu: 2_000 } });
  await rig.submit(specs, manifest({ id: runId(id), name: "release", submittedAt: rig.clock.now() }));
  return {
    rig,
    cwd,
    look: (...args) => rota(args, { cwd }),
    log(name, attempt, text) {
      const file = state.log(runId(id), taskId(name), attempt);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    },
    leave: () => store.release({ epoch: 1 }),
  };
}

const SPECS = [
  task("fetch"),
  task("build", { needs: ["fetch"], retry: { attempts: 2, backoff: millis(0) }, title: "Build \u001b[31mit" }),
  task("ship", { needs: ["build"] }),
  task("tell", { after: ["ship"] }),
];

/** fetch succeeds; build fails, is tried again, fails for good; ship is skipped; tell ends the run. */
async function failedRun(): Promise<Scene> {
  const scene = await openScene(SPECS);
  const { rig } = scene;
  const durationMs = seconds(2);
  const step = async (name: string, end: "succeeds" | "fails"): Promise<void> => {
    rig.machine.at(name).starts();
    await rig.clock.settle();
    await rig.clock.advance(durationMs);
    rig.machine.at(name).ends(end === "fails" ? { ...exit(1), durationMs } : { ...success, durationMs });
    await rig.clock.settle();
  };
  await step("fetch", "succeeds");
  await step("build", "fails");
  await rig.clock.advance(seconds(1));
  await step("build", "fails");
  await step("tell", "succeeds");
  await scene.leave();
  return scene;
}

describe("status", () => {
  test("shows a run that failed, and what to do next", async () => {
    const { look, cwd } = await failedRun();
    const { code, out } = await look("status");
    expect(code).toBe(0);
    expect(out.replaceAll(cwd, "~")).toMatchInlineSnapshot(`
      "✖ release  failed after 9s  release-abc123

        ━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╳╳╳╳╳╳╳╳╳╳╳╳╳╳╳╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌ 4/4 100%
        2 done · 1 failed · 1 skipped

      Failed
        ✖ build  Build \\x1b[31mit  exit code 1 after 2s, attempt 2, 1 skipped

      Ended
        ✔ fetch  2s
        ⊘ ship   skipped
        ✔ tell   2s

      Next
        rota logs build  what it said
        rota retry       run again what did not succeed
      "
    `);
  });

  test("says the same as JSON", async () => {
    const { look } = await failedRun();
    const { out } = await look("status", "--json");
    expect(JSON.parse(out)).toMatchObject({
      run: "release-abc123",
      state: "failed",
      submitted_at: "1970-01-01T00:16:40.000Z",
      tasks: { total: 4, succeeded: 2, failed: 1, skipped: 1, running: 0 },
      failed: [{ task: "build", attempts: 2, outcome: { kind: "exit", code: 1 }, skipped: 1 }],
    });
  });

  test("shows what runs and what waits while a scheduler is at work", async () => {
    const { look, rig } = await openScene(SPECS);
    rig.machine.at("fetch").starts();
    await rig.clock.advance(seconds(1));
    const { out } = await look("status", "--json");
    expect(JSON.parse(out)).toMatchObject({
      state: "running",
      owner: { pid: 1, host: "elsewhere" },
      running: [{ task: "fetch", attempt: 1, worker: "w1", state: "running" }],
      waiting: [{ reason: "needs", count: 3 }],
    });
  });

  test("calls a run interrupted when its scheduler is gone", async () => {
    const { look, rig, leave } = await openScene(SPECS);
    rig.crash();
    await leave();
    expect(JSON.parse((await look("status", "--json")).out)).toMatchObject({ state: "interrupted", owner: null });
  });

  test("lists every run", async () => {
    const { look } = await failedRun();
    expect((await look("status", "--all")).out).toMatch(/^✖ release-abc123 {2}failed {2}4 tasks {2}9s {2}\S+ ago\n$/);
    expect(JSON.parse((await look("status", "--all", "--json")).out)).toMatchObject({
      runs: [{ run: "release-abc123", state: "failed", tasks: 4 }],
    });
  });
});

describe("a run is named", () => {
  test.each(["last", "release-abc123", "rel"])("by %s", async (name) => {
    const { look } = await failedRun();
    expect(await look("status", name)).toMatchObject({ code: 0, err: "" });
  });

  test("and what is not one is refused with the nearest", async () => {
    const { look } = await failedRun();
    expect(await look("status", "relaese-abc123")).toEqual({
      code: 2,
      out: "",
      err: 'RUN_UNKNOWN: There is no run "relaese-abc123". Did you mean "release-abc123"? (`rota status --all` lists the runs.)\n',
    });
  });

  test("in a directory that has runs", async () => {
    const cwd = freshDir();
    expect((await rota(["status"], { cwd })).err).toBe(
      `STATE_MISSING: There are no runs yet in ${cwd}/.rota (Start with \`rota run PLAN\`, or name the directory with --state DIR.)\n`,
    );
    expect((await rota(["status", "--state", "x"], { cwd })).err).toMatch(
      /^STATE_MISSING: There are no runs yet in \S+\/x /,
    );
  });

  test("by a start that is only its own", async () => {
    const { look, rig } = await openScene(SPECS, "release-a1");
    await rig.submit(SPECS, { id: runId("release-a2") });
    expect((await look("status", "rel")).err).toMatch(/^RUN_UNKNOWN: "rel" begins 2 runs: release-a1, release-a2/);
    expect(await look("status", "release-a1")).toMatchObject({ code: 0 });
  });
});

describe("why", () => {
  test("explains a task that was skipped", async () => {
    const { look } = await failedRun();
    const { code, out } = await look("why", "ship");
    expect(code).toBe(0);
    expect(out).toMatch(/ship/);
    expect(out).toMatch(/build/);
    const json = JSON.parse((await look("why", "ship", "--json")).out) as object;
    expect(json).toMatchObject({ task: "ship", state: "skipped", run: "release-abc123" });
  });

  test("names what a blocked task waits for", async () => {
    const { look } = await openScene(SPECS);
    const json = JSON.parse((await look("why", "ship", "--json")).out) as object;
    expect(json).toMatchObject({ state: "blocked", wait: { reason: "needs" } });
  });

  test("does not know a task that is not there, but may guess", async () => {
    const { look } = await failedRun();
    expect(await look("why", "shp")).toEqual({
      code: 2,
      out: "",
      err: 'TASK_UNKNOWN: Run release-abc123 has no task "shp". Did you mean "ship"? (`rota status` lists the tasks of the run.)\n',
    });
  });

  test("lets no title act on the terminal", async () => {
    const { look } = await failedRun();
    expect((await look("why", "build")).out).not.toContain("\u001b");
  });
});

describe("events", () => {
  test("are one object a line, in order, without gaps and without secrets", async () => {
    const { look } = await failedRun();
    const { out } = await look("events", "--json");
    const events = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events[1]).toEqual({
      seq: 2,
      at: "1970-01-01T00:16:40.000Z",
      run: "release-abc123",
      kind: "claimed",
      task: "fetch",
      version: 1,
      attempt: 1,
      fence: 1,
      worker: "w1",
      deadline: "1970-01-01T00:17:10.000Z",
      evidence: { lane: "normal", rank: 4, waited_ms: 0 },
    });
    expect(out).not.toMatch(/token/i);
  });

  test("can be those of one task", async () => {
    const { look } = await failedRun();
    expect((await look("events", "--task", "build")).out).toMatchInlineSnapshot(`
      "    5  00:16:42  build                 claimed by w1 (attempt 1, waited 0s)
          6  00:16:42  build                 started as pid 2
          7  00:16:44  build                 exit code 1, tries again in 0s
          8  00:16:44  build                 claimed by w1 (attempt 2, waited 0s)
          9  00:16:45  build                 started as pid 3
         10  00:16:47  build                 failed: exit code 1, after 2 attempts
      "
    `);
  });

  test("are followed until the run that was named ends", async () => {
    const { rig, cwd, leave } = await openScene([task("only")]);
    const terminal = fakeTerminal();
    const following = rota(["events", "--follow", "--run", "last", "--json"], { cwd, terminal });
    rig.machine.at("only").starts().succeeds();
    await rig.clock.settle();
    const { code, out } = await following;
    await leave();
    expect(code).toBe(0);
    expect(out.trim().split("\n").at(-1)).toContain('"kind":"run_finished"');
  });

  test("are followed no longer when the reader is gone", async () => {
    const { cwd } = await openScene([task("only")]);
    const terminal = fakeTerminal();
    const following = rota(["events", "--follow"], { cwd, terminal });
    terminal.leave();
    expect((await following).code).toBe(0);
  });
});

describe("timeline", () => {
  test("draws bars", async () => {
    const { look } = await failedRun();
    expect((await look("timeline")).out).toMatchInlineSnapshot(`
      "release  release-abc123  failed · 9s · 4 tasks

        ✔ fetch                   ██████████████                                                2s
        ✖ build  Build \\x1b[31mit               ▒▒▒▒▒▒▒▒▒▒▒▒▒       █████████████               4s ×2
        ✔ tell                                                                   ██████████████ 2s
                                  ╵0s           ╵2s          ╵4s           ╵6s          ╵8s

        4 attempts of 4 tasks · 8s of work · 0.9 at a time
        Critical path: fetch → build → tell
      "
    `);
  });

  test("can be JSON, a picture or a page, also in a file", async () => {
    const { look, cwd } = await failedRun();
    expect(JSON.parse((await look("timeline", "--json")).out)).toMatchObject({ run: "release-abc123" });
    expect((await look("timeline", "--svg")).out).toMatch(/^<svg[\s\S]*<\/svg>\s*$/);
    expect(await look("timeline", "last", "--html", "-o", "t.html")).toEqual({
      code: 0,
      out: "",
      err: "Wrote t.html.\n",
    });
    expect(readFileSync(join(cwd, "t.html"), "utf8")).toMatch(/^<!doctype html>/i);
  });

  test("is one thing at a time", async () => {
    const { look } = await failedRun();
    expect((await look("timeline", "--svg", "--json")).err).toMatch(
      /^USAGE: --json and --svg cannot be asked for at once/,
    );
    expect((await look("timeline", "-o", "no/such/place")).err).toMatch(/^USAGE: .*cannot be written/);
  });
});

describe("logs", () => {
  const RAW = "\u001b[32mok\u001b[0m\u0007\nsecond\n";

  test("are what was written, byte for byte, when a program reads them", async () => {
    const { look, log } = await failedRun();
    log("build", 2, RAW);
    expect(await look("logs", "build")).toEqual({ code: 0, out: RAW, err: "" });
  });

  test("cannot act on a terminal when a person reads them", async () => {
    const { cwd, log } = await failedRun();
    log("build", 2, RAW);
    const { out } = await rota(["logs", "build"], { cwd, terminal: fakeTerminal({ interactive: true }) });
    expect(out).toBe("ok\\x07\nsecond\n");
  });

  test("can be of an earlier attempt, or only their end", async () => {
    const { look, log } = await failedRun();
    log("build", 1, "first try\n");
    log("build", 2, "a\nb\nc\n");
    expect((await look("logs", "build", "--attempt", "1")).out).toBe("first try\n");
    expect((await look("logs", "build", "--tail", "2")).out).toBe("b\nc\n");
  });

  test.each([
    [["ship"], "LOG_MISSING: Task ship of release-abc123 has not started: it is skipped"],
    [["build", "--attempt", "3"], "LOG_MISSING: Task build of release-abc123 has attempts 1 to 2, not 3"],
    [["fetch", "--attempt", "0"], "LOG_MISSING: Task fetch of release-abc123 has only attempt 1, not 0"],
    [["build", "--attempt", "2"], "LOG_MISSING: Attempt 2 of build left no log"],
  ])("of %j are not there, and why", async (args, message) => {
    const { look } = await failedRun();
    const { code, err } = await look("logs", ...args);
    expect(code).toBe(2);
    expect(err.startsWith(message)).toBe(true);
  });

  test("of a success that printed nothing are empty, whether there is a file or not", async () => {
    const { look } = await failedRun();
    expect(await look("logs", "fetch")).toEqual({ code: 0, out: "", err: "" });
  });

  test("of a success that printed nothing are not waited for for ever", async () => {
    const { rig, cwd } = await openScene([task("only")]);
    rig.machine.at("only").starts();
    await rig.clock.settle();
    const following = rota(["logs", "only", "-f"], { cwd, terminal: fakeTerminal() });
    rig.machine.at("only").succeeds();
    await rig.clock.settle();
    expect(await following).toEqual({ code: 0, out: "", err: "" });
  });

  test("are followed until the attempt has ended", async () => {
    const { rig, cwd, log } = await openScene([task("only")]);
    rig.machine.at("only").starts();
    await rig.clock.settle();
    log("only", 1, "begun\n");
    const terminal = fakeTerminal();
    const following = rota(["logs", "only", "-f"], { cwd, terminal });
    log("only", 1, "begun\nended\n");
    rig.machine.at("only").succeeds();
    await rig.clock.settle();
    expect(await following).toEqual({ code: 0, out: "begun\nended\n", err: "" });
  });

  test("are not waited for when the scheduler is gone", async () => {
    const { rig, cwd, log, leave } = await openScene([task("only")]);
    rig.machine.at("only").starts();
    await rig.clock.settle();
    log("only", 1, "begun\n");
    rig.crash();
    await leave();
    expect(await rota(["logs", "only", "-f"], { cwd })).toEqual({
      code: 0,
      out: "begun\n",
      err: "The scheduler is gone, and no scheduler recorded how this attempt ended.\n",
    });
  });
});

describe("doctor", () => {
  const findings = (out: string) =>
    (JSON.parse(out) as { findings: { check: string; health: string; message: string; hint?: string }[] }).findings;

  test("finds nothing wrong with a history that is whole", async () => {
    const { look } = await failedRun();
    const { code, out } = await look("doctor", "--json");
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ ok: true });
    expect(findings(out).map(({ check, health }) => `${check}: ${health}`)).toEqual([
      "node: ok",
      "sqlite: ok",
      "permissions: ok",
      "disk: ok",
      "store: ok",
      "ledger: ok",
      "history: ok",
      "scheduler: ok",
      "processes: ok",
      "git: info",
      "tmux: info",
    ]);
    expect((await look("doctor")).out).toMatch(
      /✔ {2}ledger +1 of 1 runs replayed, and the tables agree[\s\S]*Nothing is wrong\.\n$/,
    );
  });

  test("looks at the machine alone where there is no state directory, unless one was named", async () => {
    const cwd = freshDir();
    expect(await rota(["doctor"], { cwd })).toMatchObject({ code: 0 });
    expect(await rota(["doctor", "--state", "x"], { cwd })).toMatchObject({ code: 2 });
  });

  test("notices a table that says something else than was written", async () => {
    const { look, cwd } = await failedRun();
    const { DatabaseSync } = await import("node:sqlite");
    const db = new DatabaseSync(join(cwd, ".rota/rota.db"));
    db.exec("update task set failures = 0 where no = 1");
    db.close();
    const { code, out } = await look("doctor", "--json");
    expect(code).toBe(1);
    expect(findings(out).filter(({ health }) => health === "problem")).toMatchObject([
      { check: "store", message: "task 1/1 is not what was written" },
    ]);
  });

  test("notices a file that is no database", async () => {
    const cwd = freshDir();
    mkdirSync(join(cwd, ".rota"), { mode: 0o700 });
    writeFileSync(join(cwd, ".rota/rota.db"), "not a database at all, whatever its name says".repeat(100));
    const { code, out } = await rota(["doctor", "--json"], { cwd });
    expect(code).toBe(1);
    expect(findings(out).filter(({ health }) => health === "problem")).toMatchObject([
      { check: "store", hint: expect.stringContaining("Copy") },
    ]);
  });

  test("notices a scheduler that died, and a directory that is open to others", async () => {
    const { look, rig, cwd } = await openScene(SPECS);
    rig.crash();
    const { openSqliteStore } = await import("../../src/store/sqlite/store.ts");
    const { chmodSync } = await import("node:fs");
    const dead = {
      process: { pid: 1, startTime: "0", bootId: "other" },
      host: hostName(),
      command: "rota run x",
      since: instant(0),
      workers: 1,
      capacity: {},
    };
    const store = openSqliteStore(join(cwd, ".rota/rota.db"), { lives: () => false });
    await store.acquire(dead);
    await store[Symbol.asyncDispose]();
    chmodSync(join(cwd, ".rota"), 0o755);
    const { code, out } = await look("doctor", "--json");
    expect(code).toBe(0);
    expect(
      findings(out)
        .filter(({ health }) => health === "warning")
        .map(({ message }) => message),
    ).toEqual([
      `${join(cwd, ".rota")} is open to others (mode 755)`,
      "rota run x (pid 1) ended without giving the directory back",
    ]);
  });
});

test("whatever people and tasks wrote, nothing of it acts on a terminal", async () => {
  const hostile = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join("");
  const nasty = `\u001b]52;c;aGk=\u0007\u001b]8;;http://x\u0007\u202e${hostile}`;
  const { rig, cwd, log } = await openScene([task("a"), task("b", { needs: ["a"], gate: nasty, title: nasty })]);
  log("a", 1, `${nasty}\n${nasty}`);
  await rig.ask({ kind: "cancel", run: runId("release-abc123"), task: taskId("b"), why: nasty, by: nasty });
  const commands = [
    ["status"],
    ["status", "--all"],
    ["why", "a"],
    ["why", "b"],
    ["events"],
    ["timeline"],
    ["logs", "a"],
    ["doctor"],
  ];
  for (const command of [...commands, ["logs", nasty], ["status", nasty], ["check", nasty], [nasty]]) {
    const { out, err } = await rota(command, { cwd, terminal: fakeTerminal({ interactive: true }) });
    expect((out + err).replaceAll("\n", "")).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u);
  }
});

test("looking changes nothing", async () => {
  const { look, cwd } = await failedRun();
  const files = () => readdirSync(join(cwd, ".rota")).filter((name) => !/-(?:wal|shm)$/.test(name));
  const before = [files(), readFileSync(join(cwd, ".rota/rota.db"))];
  for (const command of [["status"], ["why", "ship"], ["events"], ["timeline"], ["doctor"]]) await look(...command);
  expect([files(), readFileSync(join(cwd, ".rota/rota.db"))]).toEqual(before);
});

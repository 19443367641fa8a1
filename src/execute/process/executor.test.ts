import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { millis } from "../../domain/time.ts";
import { systemClock } from "../../effects/clock.ts";
import { isAlive, memoryOf } from "../../effects/host.ts";
import { CANCELLED, eventually, executorConformance, place, shell, told } from "../conformance.ts";
import type { Attempt, Executor, Handle } from "../executor.ts";
import { openProcessExecutor } from "./executor.ts";
import type { ProcessOptions } from "./options.ts";
import { slotsLeft } from "./register.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const MIB = 1024 * 1024;

describe("process executor", () => {
  executorConformance((stateDir) => openProcessExecutor({ stateDir, clock: systemClock() }));
});

describe("a process", () => {
  let dir: string;
  let executor: Executor;
  const open = (environment: NodeJS.ProcessEnv = process.env, options: Partial<ProcessOptions> = {}): Executor => {
    executor = openProcessExecutor({
      stateDir: join(dir, "state"),
      clock: systemClock(),
      environment,
      options,
    });
    return executor;
  };
  const start = (line: string, changes: Partial<Attempt> = {}): Handle =>
    executor.start(shell(dir, line, changes), told());
  const log = (): string => readFileSync(join(dir, "logs", "task.log"), "utf8");

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "rota-process-"));
  });
  afterEach(async () => {
    await executor[Symbol.asyncDispose]();
    // A watchdog is a process of its own, and may still be leaving.
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });

  test("tells which process it is while it runs", async () => {
    open();
    const watch = told();
    const line = "echo $$; cut -d' ' -f22 /proc/$$/stat; cat /proc/sys/kernel/random/boot_id";
    const handle = executor.start(shell(dir, `${line}; while [ ! -e go ]; do sleep 0.02; done`), watch);
    await eventually(() => expect(watch.starts).toHaveLength(1));
    writeFileSync(join(dir, "go"), "");
    await handle.outcome;
    const [pid, startTime, bootId] = log().trim().split("\n");
    expect(watch.starts).toEqual([{ pid: Number(pid), startTime, bootId }]);
  });

  test("a code above 128 is kept, with the signal that it may stand for", async () => {
    open();
    expect(await start("kill -SEGV $$").outcome).toMatchObject({ kind: "exit", code: 139, maybeSignal: "SIGSEGV" });
    expect(await start("exit 143", { fence: 2 }).outcome).toMatchObject({
      kind: "exit",
      code: 143,
      maybeSignal: "SIGTERM",
    });
    expect(await start("exit 255", { fence: 3 }).outcome).not.toHaveProperty("maybeSignal");
  });

  test("what cannot be executed is told apart from what is not there", async () => {
    open();
    writeFileSync(join(dir, "plain"), "text");
    writeFileSync(join(dir, "script"), "#!/no/such/interpreter\n");
    chmodSync(join(dir, "script"), 0o755);
    const run = (file: string) => start("", { work: { argv: [file] } }).outcome;
    expect(await run("./plain")).toMatchObject({ kind: "spawn", message: "not executable: ./plain" });
    expect(await run("./script")).toMatchObject({ kind: "spawn", message: expect.stringContaining("interpreter") });
    expect(await run("./none")).toMatchObject({ kind: "spawn", message: "command not found: ./none" });
    expect(await start("true", { where: place(join(dir, "plain")) }).outcome).toMatchObject({
      kind: "spawn",
      message: `${join(dir, "plain")} is not a directory`,
    });
  });

  test("a bare name is looked for in the task's own PATH", async () => {
    open();
    mkdirSync(join(dir, "bin"));
    writeFileSync(join(dir, "bin", "only-here"), "#!/bin/sh\necho found\n", { mode: 0o755 });
    const command = { argv: ["only-here"] } as const;
    expect(await start("", { work: command }).outcome).toMatchObject({ kind: "spawn" });
    expect(await start("", { work: command, env: { PATH: join(dir, "bin") } }).outcome).toMatchObject({
      kind: "success",
    });
  });

  test("of the scheduler's environment only the allowed names reach a task", async () => {
    const environment = {
      PATH: process.env.PATH,
      HOME: "/home/x",
      LC_ALL: "C",
      AWS_SECRET: "no",
      CI: "yes",
      PROXY_A: "a",
    };
    open(environment, { passEnv: ["CI", "PROXY_*"] });
    await start("", { work: { argv: ["env"] }, env: { MINE: "1", HOME: "/elsewhere", ROTA_TASK: "forged" } }).outcome;
    const seen = Object.fromEntries(
      log()
        .trim()
        .split("\n")
        .map((line) => line.split("=")),
    );
    expect(seen).toEqual({
      PATH: environment.PATH,
      HOME: "/elsewhere",
      LC_ALL: "C",
      CI: "yes",
      PROXY_A: "a",
      MINE: "1",
      ROTA_RUN: "run",
      ROTA_TASK: "task",
      ROTA_ATTEMPT: "1",
      ROTA_FENCE: "1",
      ROTA_STATE_ID: expect.any(String),
    });
  });

  test("a secret reaches the task and not its log", async () => {
    open({ ...process.env, TOKEN: "hunter2-hunter2", SHORT: "ab" });
    const env = { KEY: { from: "TOKEN" }, TINY: { from: "SHORT" } };
    const line = 'test "$KEY" = hunter2-hunter2 && echo "<$KEY> $TINY"; head -c 1048570 /dev/zero; printf "%s" "$KEY"';
    expect(await start(line, { env }).outcome).toMatchObject({ kind: "success" });
    const text = log();
    expect(text).toMatch(/^<\*{15}> ab\n\0+\*{15}$/);
    expect(text).not.toContain("hunter2");
  });

  test("a log is for its owner alone, and is not written through a link", async () => {
    open();
    await start("echo hi").outcome;
    expect(statSync(join(dir, "logs", "task.log")).mode & 0o777).toBe(0o600);
    symlinkSync(join(dir, "elsewhere"), join(dir, "logs", "link.log"));
    const outcome = await start("echo hi", { log: join(dir, "logs", "link.log") }).outcome;
    expect(outcome).toMatchObject({ kind: "spawn", message: expect.stringContaining("link.log") });
    expect(existsSync(join(dir, "elsewhere"))).toBe(false);
  });

  test("a log over its size keeps its beginning and its end, and says what is missing", async () => {
    open(process.env, { logMaxBytes: MIB });
    // It grows at once, so that it is not cut half way, and goes on when the cut is whole.
    const isCut = "tail -c 99 logs/task.log | grep -q 'missing here'";
    const line = `echo first; truncate -s 3000006 logs/task.log; until ${isCut}; do sleep 0.05; done; echo last`;
    expect(await start(line).outcome).toMatchObject({ kind: "success" });
    const text = log();
    expect(text.length).toBeLessThan(MIB);
    expect(text).toMatch(
      /^first\n\0+\n\[rota: the log went over 1048576 bytes; 2475718 bytes are missing here\]\nlast\n$/,
    );
  });

  test("a log is no longer than it may be when the attempt ends between two looks", async () => {
    open(process.env, { logMaxBytes: MIB });
    expect(await start("head -c 30000000 /dev/zero; echo; echo last").outcome).toMatchObject({ kind: "success" });
    expect(log().length).toBeLessThanOrEqual(MIB);
    expect(log()).toMatch(
      /^\0+\n\[rota: the log went over 1048576 bytes; \d+ bytes are missing here\]\n[^\n]*\n?(?:last\n)?$/,
    );
  });

  test("a log is held while the attempt lives, however fast it grows", async () => {
    open(process.env, { logMaxBytes: MIB });
    const handle = start("head -c 30000000 /dev/zero; touch written; while [ ! -e go ]; do sleep 0.02; done");
    const size = (): number => statSync(join(dir, "logs", "task.log"), { throwIfNoEntry: false })?.size ?? 0;
    await eventually(() => expect(existsSync(join(dir, "written"))).toBe(true));
    await eventually(() => expect(size()).toBeLessThanOrEqual(MIB));
    writeFileSync(join(dir, "go"), "");
    expect(await handle.outcome).toMatchObject({ kind: "success" });
  });

  test("a gigabyte of output costs neither the scheduler nor the wrapper memory", async () => {
    open();
    await start("true").outcome;
    const [slot] = slotsLeft(join(dir, "state"));
    const resident = (): number[] =>
      [process.pid, slot?.wrapper.pid ?? 0].map((pid) => memoryOf(pid)?.resident ?? Number.NaN);
    const before = resident();
    expect(await start("head -c 1G /dev/zero", { fence: 2 }).outcome).toMatchObject({ kind: "success" });
    expect(statSync(join(dir, "logs", "task.log")).size).toBe(1024 * MIB);
    for (const [index, after] of resident().entries()) expect(after - (before[index] ?? 0)).toBeLessThan(64 * MIB);
  }, 60_000);

  test("output is a sign of life", async () => {
    open();
    const watch = told();
    const handle = executor.start(shell(dir, "while :; do echo; sleep 0.1; done"), watch);
    await eventually(() => expect(watch.progress).toBeGreaterThan(0));
    handle.stop(CANCELLED, millis(1_000));
    await handle.outcome;
  });

  test("memory over the limit ends the attempt", async () => {
    open();
    const hog = "const held = Buffer.alloc(200e6, 1); setInterval(() => held, 1000)";
    const command = { argv: [process.execPath, "-e", hog] } as const;
    const outcome = await start("", { work: command, memoryLimit: 100 * MIB }).outcome;
    expect(outcome).toMatchObject({ kind: "signal", signal: "SIGKILL", limit: "memory" });
  });

  test("memory is that of all its processes together, and less than the limit is no matter", async () => {
    open();
    const child = (ms: number) =>
      `${process.execPath} -e 'const b = Buffer.alloc(120e6, 1); setTimeout(() => b, ${ms})'`;
    const both = `${child(60_000)} & ${child(60_000)}`;
    expect(await start(both, { memoryLimit: 180 * MIB }).outcome).toMatchObject({ kind: "signal", limit: "memory" });
    expect(await start(child(300), { memoryLimit: 400 * MIB, fence: 2 }).outcome).toMatchObject({ kind: "success" });
  });

  test("usage is plausible", async () => {
    open();
    const used = "const used = () => { const { user, system } = process.cpuUsage(); return user + system }";
    const work = `const b = Buffer.alloc(100e6, 1); ${used}; const t = used() + 400e3; while (used() < t) b`;
    const outcome = await start("", { work: { argv: [process.execPath, "-e", work] } }).outcome;
    expect(outcome.kind).toBe("success");
    expect(outcome.usage?.cpuMs?.amount).toBeGreaterThanOrEqual(400);
    // Its own start counts too, and where the machine is a guest so may the time that others on its host took.
    expect(outcome.usage?.cpuMs?.amount).toBeLessThan(10_000);
    expect(outcome.usage?.peakBytes?.amount).toBeGreaterThan(100e6);
    expect(outcome.usage?.peakBytes?.amount).toBeLessThan(400e6);
    const idle = await start("sleep 1", { fence: 2 }).outcome;
    expect(idle.usage?.cpuMs?.amount).toBeLessThan(990);
    expect(idle.durationMs).toBeGreaterThanOrEqual(990);
  });

  test("what was too short to be measured is not said to have used no memory", async () => {
    open();
    const outcome = await start("", { work: { argv: ["true"] } }).outcome;
    expect(outcome.usage ?? {}).not.toHaveProperty("peakBytes.amount", 0);
  });

  test("a lower priority is nicer", async () => {
    open(process.env, { nice: { critical: 0, high: 1, normal: 3, low: 7 } });
    const line = 'while [ "$(nice)" = 0 ]; do sleep 0.01; done; nice';
    await start(line, { priority: "low" }).outcome;
    expect(log()).toBe("7\n");
    await start("sleep 0.05; nice", { priority: "critical", fence: 2 }).outcome;
    expect(log()).toBe("7\n0\n");
  });

  test("when it is disposed of, its shells are gone and leave nothing but the identity of the directory", async () => {
    open();
    await Promise.all(Array.from({ length: 50 }, (_, index) => start("true", { fence: index + 1 }).outcome));
    const processes = join(dir, "state", "processes");
    const wrappers = slotsLeft(join(dir, "state")).map(({ wrapper }) => wrapper);
    expect(wrappers.length).toBeGreaterThan(0);
    await executor[Symbol.asyncDispose]();
    expect(wrappers.filter(isAlive)).toEqual([]);
    expect(readdirSync(processes)).toEqual(["identity.json"]);
    expect(statSync(processes).mode & 0o777).toBe(0o700);
    expect(statSync(join(processes, "identity.json")).mode & 0o777).toBe(0o600);
  });
});

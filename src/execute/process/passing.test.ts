import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { millis } from "../../domain/time.ts";
import { systemClock } from "../../effects/clock.ts";
import { CANCELLED, shell, told } from "../conformance.ts";
import type { Attempt, Executor, Handle } from "../executor.ts";
import { openProcessExecutor } from "./executor.ts";
import { explainStart } from "./explain.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

/** What a task is given is what it would have by hand, although a shell passes it on. */
let dir: string;
let executor: Executor;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rota-passing-"));
  executor = open();
});
afterEach(async () => {
  await executor[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

const open = (): Executor => openProcessExecutor({ stateDir: join(dir, "state"), clock: systemClock() });
const start = (line: string, changes: Partial<Attempt> = {}): Handle =>
  executor.start(shell(dir, line, changes), told());
const logOf = (name: string): string => join(dir, "logs", `${name}.log`);
test("the log is there while the attempt runs, whatever it prints", async () => {
  await start(`test -f ${logOf("task")} && test ! -s ${logOf("task")} && touch seen`).outcome;
  expect(existsSync(join(dir, "seen"))).toBe(true);
});

test("a log that is there already is gone on with, not replaced", async () => {
  mkdirSync(dirname(logOf("old")));
  writeFileSync(logOf("old"), "before\n");
  await start("echo after", { log: logOf("old"), fence: 2 }).outcome;
  expect(readFileSync(logOf("old"), "utf8")).toBe("before\nafter\n");
});

test("a log that cannot be made says why, and not that something is missing", async () => {
  // Not even root may make anything there.
  const log = "/sys/rota-logs/run/task.1.log";
  expect(await start("true", { log }).outcome).toMatchObject({
    kind: "spawn",
    message: expect.stringMatching(/^cannot open the log \/sys\/.*: (EPERM|EACCES|EROFS)$/),
  });
});

test("what is passed to a task is passed whole: line ends, quotes, and what is no Latin letter", async () => {
  const words = ["two\nlines", "tab\there", "'\"\\$", "żółć 😀", ""] as const;
  const command = { argv: ["printf", "%s|", ...words] } as const;
  await start("", { work: command, env: { VALUE: "a=b\nc" } }).outcome;
  expect(readFileSync(logOf("task"), "utf8")).toBe(words.map((word) => `${word}|`).join(""));
  await start('printf %s "$VALUE"', { env: { VALUE: "a=b\nc" }, log: logOf("env"), fence: 2 }).outcome;
  expect(readFileSync(logOf("env"), "utf8")).toBe("a=b\nc");
});

test("a task has the file mode mask and the open files it would have had by hand", async () => {
  const line = "umask; ls /proc/self/fd | wc -l; ls -l /proc/self/fd/0 | grep -c /dev/null";
  await start(line).outcome;
  const byHand = execFileSync("/bin/sh", ["-c", line], { stdio: ["ignore", "pipe", "inherit"], encoding: "utf8" });
  expect(readFileSync(logOf("task"), "utf8")).toBe(byHand);
});

test("a task ignores and holds back no more signals than it would have by hand", async () => {
  // Without a shell, which would set some of them right.
  const [file, ...args] = ["grep", "^Sig[BI]", "/proc/self/status"] as const;
  const byHand = execFileSync(file, args, { encoding: "utf8" });
  await start("", { work: { argv: [file, ...args] } }).outcome;
  expect(readFileSync(logOf("task"), "utf8")).toBe(byHand);
});

test("a command is looked for where the task's own PATH says, and as a shell would", async () => {
  const put = (file: string, text: string, mode: number): void => {
    mkdirSync(dirname(join(dir, file)), { recursive: true });
    writeFileSync(join(dir, file), text);
    chmodSync(join(dir, file), mode);
  };
  put("first/named", "echo wrong", 0o644);
  put("second/named", "#!/bin/sh\necho right", 0o755);
  put("second/bare", "echo bare", 0o755);
  for (const name of ["named", "bare", "here"]) put(`third/${name}`, "#!/bin/sh\necho wrong", 0o755);
  put("here", "#!/bin/sh\necho here", 0o755);
  const absolute = ["first", "second", "third"].map((name) => join(dir, name)).join(":");
  const run = async (command: string, PATH: string, fence: number): Promise<string> => {
    const log = logOf(`path-${fence}`);
    await start("", { work: { argv: [command] }, env: { PATH }, log, fence }).outcome;
    return readFileSync(log, "utf8");
  };
  expect(await run("named", absolute, 1)).toBe("right\n");
  expect(await run("bare", absolute, 2)).toBe("bare\n");
  expect(await run("named", `first:second:${join(dir, "third")}`, 3)).toBe("right\n");
  expect(await run("here", `/nowhere::${join(dir, "third")}`, 4)).toBe("here\n");
  expect(await start("", { work: { argv: ["none"] }, env: { PATH: absolute }, fence: 5 }).outcome).toMatchObject({
    kind: "spawn",
    message: expect.stringContaining("none"),
  });
});

test("an attempt that was asked to end before it had begun ends", async () => {
  for (const grace of [millis(0), millis(5_000)]) {
    const handle = start("sleep 60", { fence: grace + 1 });
    handle.stop(CANCELLED, grace);
    expect(await handle.outcome).toMatchObject({ kind: "cancelled" });
  }
});

test("more than the socket holds can be asked for at once", async () => {
  const env = { LONG: "x".repeat(100_000) };
  const outcomes = Array.from({ length: 40 }, (_, index) => start('test "$LONG"', { env, fence: index + 1 }).outcome);
  for (const outcome of await Promise.all(outcomes)) expect(outcome.kind).toBe("success");
});

test("variables that a shell cannot hold, or that mean something to it, are passed as well", async () => {
  const env = {
    "a.b": "1",
    "c-d": "x y",
    IFS: ":",
    OPTIND: "no number",
    PWD: "/elsewhere",
    LINENO: "7",
    PPID: "1",
    rota_dir: "/",
  };
  await start("", { work: { argv: ["env"] }, env }).outcome;
  const seen = readFileSync(logOf("task"), "utf8").split("\n");
  for (const [name, value] of Object.entries(env)) expect(seen).toContain(`${name}=${value}`);
});

test("a word or a variable that is too long for the kernel is said to be", async () => {
  const outcome = await start("true", { env: { LONG: "x".repeat(200_000) } }).outcome;
  expect(outcome).toMatchObject({ kind: "spawn", message: expect.stringContaining("too long") });
});

test("a folder of a PATH that cannot be looked into is passed over, and none is taken for a directory", () => {
  // Root may look everywhere but here.
  symlinkSync(join(dir, "a"), join(dir, "b"));
  symlinkSync(join(dir, "b"), join(dir, "a"));
  const PATH = `${join(dir, "a")}:${process.env["PATH"]}`;
  expect(explainStart(["true"], dir, { PATH })).toBeUndefined();
  expect(explainStart(["true"], join(dir, "a"), { PATH })).toMatchObject({ kind: "spawn" });
});

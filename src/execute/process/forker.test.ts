import { execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { ProcessIdentity } from "../../domain/task.ts";
import { millis, seconds } from "../../domain/time.ts";
import { systemClock } from "../../effects/clock.ts";
import { isAlive } from "../../effects/host.ts";
import { CANCELLED, eventually, exists, shell, told } from "../conformance.ts";
import type { Attempt, Executor, Handle } from "../executor.ts";
import { openProcessExecutor } from "./executor.ts";
import { readRecords } from "./files.ts";
import { PROCESS_DEFAULTS } from "./options.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

/** What is peculiar to attempts that the forker starts. */
let dir: string;
let executor: Executor;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rota-forker-"));
  executor = open();
});
afterEach(async () => {
  await executor[Symbol.asyncDispose]();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

const open = (leftoverGrace = millis(200)): Executor =>
  openProcessExecutor({ stateDir: join(dir, "state"), clock: systemClock(), options: { leftoverGrace } });
const start = (line: string, changes: Partial<Attempt> = {}): Handle =>
  executor.start(shell(dir, line, changes), told());
const logOf = (name: string): string => join(dir, "logs", `${name}.log`);
const theForker = (): number => readRecords(join(dir, "state", "processes"))[0]?.process.pid ?? 0;
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").map(Number);
const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, "utf8");

test("a forker does the work here, and no second Node is started", async () => {
  await start("true").outcome;
  const spawners = readRecords(join(dir, "state", "processes"));
  expect(spawners.map(({ process }) => commandOf(process.pid))).toEqual([expect.stringContaining("forker.pl")]);
});

test("a success that printed nothing leaves no file, a failure that printed nothing does", async () => {
  await start("true", { log: logOf("silent") }).outcome;
  await start("exit 1", { log: logOf("failed"), fence: 2 }).outcome;
  expect(readdirSync(join(dir, "logs"))).toEqual(["failed.log"]);
});

test("the log is there while the attempt runs, whatever it prints", async () => {
  await start("true", { log: logOf("first") }).outcome;
  const line = `test -f ${logOf("second")} && test ! -s ${logOf("second")} && touch seen`;
  await start(line, { log: logOf("second"), fence: 2 }).outcome;
  expect(existsSync(join(dir, "seen"))).toBe(true);
});

test("a log that somebody may still write to is not given to another", async () => {
  await executor[Symbol.asyncDispose]();
  executor = open(seconds(20));
  // It leaves the group and does not listen, so it outlives a quick attempt for a while, and writes then.
  const late = "while [ ! -e go ]; do sleep 0.01; done; echo late; touch done";
  const stray = `setsid sh -c 'trap "" TERM; touch ready; ${late}' &`;
  await start(`${stray} while [ ! -e ready ]; do sleep 0.01; done`, { log: logOf("first") }).outcome;
  const handle = start("touch go; while [ ! -e done ]; do sleep 0.01; done; echo own", {
    log: logOf("second"),
    fence: 2,
  });
  await handle.outcome;
  expect([readFileSync(logOf("first"), "utf8"), readFileSync(logOf("second"), "utf8")]).toEqual(["late\n", "own\n"]);
});

/** Has a lease on a file, on which whoever opens it to write has to wait, and says so when somebody does. */
const LEASE = `
  my ($SETLEASE, $TO_READ) = (1_024, 0);
  $SIG{IO} = sub { syswrite STDOUT, "asked for\\n" };
  open my $log, '<', $ARGV[0] or die "$ARGV[0]: $!\\n";
  fcntl $log, $SETLEASE, $TO_READ or die "lease: $!\\n";
  syswrite STDOUT, "held\\n";
  alarm 60;
  sleep 1 while 1;
`;

test("whoever waits for an end does not wait until the log is tidied", async () => {
  const watch = told();
  // A lease is given only where nobody can write any more.
  const line = "exec > /dev/null 2>&1; touch ready; while [ ! -e go ]; do sleep 0.01; done";
  const handle = executor.start(shell(dir, line), watch);
  await exists(join(dir, "ready"));
  await eventually(() => expect(watch.starts).toHaveLength(1));
  const holder = spawn(PROCESS_DEFAULTS.perl, ["-e", LEASE, logOf("task")], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void holder.kill("SIGKILL"));
  let said = "";
  holder.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  await eventually(() => expect(said).toBe("held\n"));
  writeFileSync(join(dir, "go"), "");
  expect(await handle.outcome).toMatchObject({ kind: "success" });
  expect(readdirSync(join(dir, "logs"))).toEqual(["task.log"]);
  await eventually(() => expect(said).toBe("held\nasked for\n"));
  holder.kill("SIGKILL");
  await eventually(() => expect(readdirSync(join(dir, "logs"))).toEqual([]));
});

test("a forker that is killed leaves none of the logs behind that it kept", async () => {
  await start("true").outcome;
  const processes = join(dir, "state", "processes");
  const spares = (): string[] => readdirSync(processes).filter((name) => name.includes(".spare-"));
  // The end is told first.
  await eventually(() => expect(spares()).toHaveLength(1));
  for (const { process: forker } of readRecords(processes)) process.kill(forker.pid, "SIGKILL");
  expect(await start("exit 3", { fence: 2 }).outcome).toMatchObject({ kind: expect.stringMatching(/exit|lost/) });
  await executor[Symbol.asyncDispose]();
  expect(spares()).toEqual([]);
});

test("a log that is there already is gone on with, not replaced", async () => {
  await start("true", { log: logOf("silent") }).outcome;
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

test.each(["before", "after"])(
  "a forker whose twin was killed %s an order goes too, and another does the work",
  async (when) => {
    const watch = told();
    const handle = executor.start(shell(dir, "sleep 300"), watch);
    await eventually(() => expect(watch.starts).toHaveLength(1));
    const forker = theForker();
    const [twin = 0] = childrenOf(forker).filter((pid) => commandOf(pid) === commandOf(forker));
    process.kill(twin, when === "before" ? "SIGKILL" : "SIGSTOP");
    const asked = start("true", { log: join(dir, "folder", "task.log"), fence: 2 });
    // The last thing the forker does before it turns to its twin is to make a folder for the log.
    if (when === "after") await exists(join(dir, "folder"));
    if (when === "after") process.kill(twin, "SIGKILL");
    expect(await asked.outcome).toMatchObject({ kind: "lost" });
    expect(await handle.outcome).toMatchObject({ kind: "lost" });
    expect(isAlive(watch.starts[0] as ProcessIdentity)).toBe(false);
    expect(await start("exit 3", { fence: 3 }).outcome).toMatchObject({ kind: "exit", code: 3 });
  },
);

test("one that was asked to end before it had begun ends", async () => {
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

test("where the forker does not work, what was asked of it is asked of Node", async () => {
  await executor[Symbol.asyncDispose]();
  executor = openProcessExecutor({
    stateDir: join(dir, "state"),
    clock: systemClock(),
    options: { perl: "/bin/false" },
  });
  const outcomes = Array.from({ length: 5 }, (_, index) => start(`exit ${index}`, { fence: index + 1 }).outcome);
  expect((await Promise.all(outcomes)).map((outcome) => (outcome.kind === "exit" ? outcome.code : 0))).toEqual([
    0, 1, 2, 3, 4,
  ]);
  await eventually(() => {
    const spawners = readRecords(join(dir, "state", "processes"));
    expect(spawners.map(({ process }) => commandOf(process.pid))).toContainEqual(expect.stringContaining("main.ts"));
  });
});

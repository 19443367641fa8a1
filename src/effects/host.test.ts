import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { expect, test, vi } from "vitest";
import {
  bootId,
  fairMemoryOf,
  isAlive,
  listProcesses,
  markedProcesses,
  memoryOf,
  ownIdentity,
  processIdentity,
  processStat,
} from "./host.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000 });

const eventually = (check: () => void): PromiseLike<void> => vi.waitFor(check, { timeout: 10_000, interval: 10 });

test("this very process is alive", () => {
  const own = ownIdentity();
  expect(own).toEqual({ pid: process.pid, startTime: expect.stringMatching(/./), bootId: bootId() });
  expect(isAlive(own)).toBe(true);
});

test("another start time or another boot is another process", () => {
  const own = ownIdentity();
  expect(isAlive({ ...own, startTime: `${own.startTime}1` })).toBe(false);
  expect(isAlive({ ...own, bootId: "another" })).toBe(false);
});

test("a process that ended is not alive", async () => {
  const child = spawn("sleep", ["300"], { stdio: "ignore" });
  const identity = processIdentity(child.pid ?? 0);
  expect(identity && isAlive(identity)).toBe(true);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(identity && isAlive(identity)).toBe(false);
});

test("a process that ended and was not reaped is not alive either", async () => {
  // The shell becomes a sleep, which never reaps its child; the child ends after that.
  const ending = `sh -c 'while [ "$(cat /proc/$PPID/comm)" != sleep ]; do sleep 0.01; done'`;
  const child = spawn("sh", ["-c", `${ending} & echo $!; exec sleep 300`], { stdio: ["ignore", "pipe", "ignore"] });
  const [line] = await once(child.stdout, "data");
  const pid = Number(line);
  await eventually(() => expect(processStat(pid)?.zombie).toBe(true));
  expect(processIdentity(pid)).toBeUndefined();
  child.kill("SIGKILL");
});

test("a name with spaces and parentheses is read correctly", async () => {
  const child = spawn("sh", ["-c", "printf 'a) R 1 (' > /proc/$$/comm; echo; exec 1>&-; read x"], {
    stdio: ["pipe", "pipe", "ignore"],
    detached: true,
  });
  await once(child.stdout, "data");
  expect(processStat(child.pid ?? 0)).toMatchObject({ pid: child.pid, group: child.pid, zombie: false });
  child.stdin.end();
  await once(child, "exit");
});

test("lists processes, and finds those that carry a mark", async () => {
  // A mark of this test alone: the same test may run beside it, or may have been killed a minute ago.
  const mark = randomUUID();
  const child = spawn("sleep", ["300"], {
    stdio: "ignore",
    detached: true,
    env: { PATH: process.env.PATH, MARK: `${mark}1` },
  });
  const [pid] = [child.pid ?? 0];
  expect(listProcesses().find((found) => found.pid === pid)).toMatchObject({ group: pid, zombie: false });
  await eventually(() => expect(markedProcesses(`MARK=${mark}1`).map((found) => found.pid)).toEqual([pid]));
  expect(markedProcesses(`MARK=${mark}`)).toEqual([]);
  child.kill("SIGKILL");
  await once(child, "exit");
});

test("memory is that of the process, and unknown for a process that does not exist", () => {
  const { resident = 0, peak = 0 } = memoryOf(process.pid) ?? {};
  expect(resident).toBeGreaterThan(10e6);
  // The kernel counts both only roughly, a few pages apart.
  expect(peak).toBeGreaterThan(resident - 1e6);
  expect(fairMemoryOf(process.pid)).toBeGreaterThan(10e6);
  expect(memoryOf(2 ** 30)).toBeUndefined();
});

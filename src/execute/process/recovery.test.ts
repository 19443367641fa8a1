import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LoneScheduler } from "../../../test/rig/lone-scheduler.ts";
import type { ProcessIdentity } from "../../domain/task.ts";
import { millis, seconds } from "../../domain/time.ts";
import { systemClock } from "../../effects/clock.ts";
import { isAlive, listProcesses, processIdentity } from "../../effects/host.ts";
import { CANCELLED, eventually, exists, shell, told } from "../conformance.ts";
import type { Attempt, Executor } from "../executor.ts";
import { attemptDirectory } from "./directory.ts";
import { openProcessExecutor } from "./executor.ts";
import type { ProcessOptions } from "./options.ts";
import { slotsLeft } from "./register.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

let dir: string;
let state: string;
/** To be ended after the test, newest first. */
let ends: (() => PromiseLike<void> | void)[];

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "rota-recovery-"));
  state = join(dir, "state");
  ends = [];
});
afterEach(async () => {
  for (const end of ends.reverse()) await end();
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
});

const open = (options: Partial<ProcessOptions> = {}): Executor => {
  const executor = openProcessExecutor({ stateDir: state, clock: systemClock(), options });
  ends.push(() => executor[Symbol.asyncDispose]());
  return executor;
};
/** Of all schedulers so far that have not been taken over. */
const wrappers = (): ProcessIdentity[] => slotsLeft(state).map(({ wrapper }) => wrapper);
/** Of this state directory. */
const watchdogs = (): ProcessIdentity[] =>
  listProcesses().flatMap(({ pid }) => (isWatchdog(pid) ? (processIdentity(pid) ?? []) : []));
function isWatchdog(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(`rota-watchdog\0${state}`);
  } catch {
    return false;
  }
}
const gone = (identity: ProcessIdentity | undefined): Promise<void> =>
  eventually(() => expect(identity !== undefined && isAlive(identity)).toBe(false));
/** An attempt that runs until the test makes the file `go`, and then ends in a way one can tell. */
const waiting = (changes: Partial<Attempt> = {}): Attempt => shell(dir, WAITING, changes);
const WAITING = "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo over; exit 5";
const go = (): void => writeFileSync(join(dir, "go"), "");
const log = (): string => readFileSync(join(dir, "logs", "task.log"), "utf8");

function schedule(
  attempts: readonly Attempt[],
  options: Partial<ProcessOptions>,
  adopted: readonly Attempt[] = [],
): LoneScheduler {
  const scheduler = new LoneScheduler({ stateDir: state, options, attempts, adopted });
  ends.push(() => scheduler.kill());
  return scheduler;
}

/** A scheduler that started these and was killed. Returns the attempts' processes. */
async function crashed(
  attempts: readonly Attempt[],
  options: Partial<ProcessOptions> = {},
  /** Waited for first, besides their starts. */
  until: () => void = () => {},
): Promise<ProcessIdentity[]> {
  const scheduler = schedule(attempts, options);
  await eventually(() => expect(scheduler.said.filter((line) => line.process)).toHaveLength(attempts.length));
  await eventually(until);
  await scheduler.kill();
  const byFence = new Map(scheduler.said.flatMap(({ fence, process }) => (process ? [[fence, process]] : [])));
  return attempts.map(({ fence }) => byFence.get(fence) as ProcessIdentity);
}

describe("recovery:", () => {
  describe("after the scheduler was killed", () => {
    test("a running attempt is adopted and ends as if nothing had happened", async () => {
      const [process] = await crashed([waiting()]);
      const watch = told();
      const handle = await open().adopt(waiting(), process, watch);
      expect(watch.starts).toEqual([process]);
      go();
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
      expect(log()).toBe("begun\nover\n");
    });

    test("an adopted attempt can be stopped", async () => {
      const [process] = await crashed([waiting()]);
      const handle = await open().adopt(waiting(), process, told());
      handle?.stop(CANCELLED, seconds(5));
      expect(await handle?.outcome).toMatchObject({ kind: "cancelled" });
      await gone(process);
    });

    test.each([
      ["was ended with its scheduler has not failed", WAITING, { kind: "shutdown" }],
      [
        "was done before its scheduler could end it is done",
        "trap 'exit 0' TERM; echo begun; while :; do sleep 0.02; done",
        { kind: "success" },
      ],
    ])("what %s, although the store could not save that", async (_, line, outcome) => {
      const attempt = shell(dir, line);
      const first = open();
      const watch = told();
      const handle = first.start(attempt, watch);
      await eventually(() => expect(log()).toContain("begun"));
      await first[Symbol.asyncDispose]();
      expect(await handle.outcome).toMatchObject({ kind: "shutdown" });
      const again = await open().adopt(attempt, watch.starts[0], told());
      expect(await again?.outcome).toMatchObject(outcome);
    });

    test("an attempt is found although no scheduler had heard that it started", async () => {
      await crashed([waiting()]);
      const handle = await open().adopt(waiting(), undefined, told());
      go();
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
    });

    test("the end of an attempt is remembered while no scheduler listens", async () => {
      const [process] = await crashed([waiting()]);
      const [wrapper] = wrappers();
      go();
      await gone(wrapper);
      const watch = told();
      const executor = open();
      const handle = await executor.adopt(waiting(), process, watch);
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
      expect(watch.starts).toEqual([process]);
      expect(await executor.sweep()).toBe(0);
    });

    test("an end that was heard and perhaps not saved is told again", async () => {
      const scheduler = schedule([shell(dir, "exit 9")], {});
      await eventually(() => expect(scheduler.said.some((line) => line.outcome)).toBe(true));
      await scheduler.kill();
      const handle = await open().adopt(shell(dir, "exit 9"), undefined, told());
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 9 });
    });

    test("an attempt that ended after it was adopted, and whose end was perhaps not saved before the sweep, is told again", async () => {
      const [process] = await crashed([waiting()]);
      const next = open();
      const handle = await next.adopt(waiting(), process, told());
      go();
      await handle?.outcome;
      await next.sweep();
      const again = await open().adopt(waiting(), process, told());
      expect(await again?.outcome).toMatchObject({ kind: "exit", code: 5 });
    });

    test("what is not adopted is swept, what was adopted is not", async () => {
      const attempts = [waiting(), waiting({ fence: 2 }), waiting({ fence: 3 })];
      const [first, second, third] = await crashed(attempts);
      const [old] = wrappers();
      const executor = open();
      const handle = await executor.adopt(waiting({ fence: 2 }), second, told());
      expect(await executor.sweep()).toBe(2);
      expect([first, second, third].map((process) => process && isAlive(process))).toEqual([false, true, false]);
      go();
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
      await gone(old);
    });

    test("nothing of the earlier scheduler stays once it is swept", async () => {
      await crashed([waiting()]);
      const old = wrappers();
      const executor = open();
      expect(await executor.sweep()).toBe(1);
      for (const wrapper of old) await gone(wrapper);
      await executor[Symbol.asyncDispose]();
      expect(readdirSync(join(state, "processes"))).toEqual(["identity.json"]);
    });

    test("what several earlier schedulers left is found", async () => {
      const [first] = await crashed([waiting()]);
      const [second] = await crashed([waiting({ fence: 2 })]);
      const executor = open();
      const handles = await Promise.all([
        executor.adopt(waiting(), first, told()),
        executor.adopt(waiting({ fence: 2 }), second, told()),
      ]);
      go();
      for (const handle of handles) expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
    });

    test("attempts stop by themselves when no scheduler comes within the lease", async () => {
      const begun = (): void => expect(log()).toBe("begun\n");
      const [process] = await crashed([waiting()], { lease: millis(300) }, begun);
      const [wrapper] = wrappers();
      await gone(process);
      await gone(wrapper);
      // Whether it got as far as its first word in so short a time is not what matters.
      expect(log()).not.toContain("over");
      const handle = await open().adopt(waiting(), process, told());
      expect(await handle?.outcome).toMatchObject({
        kind: "lost",
        message: expect.stringContaining("scheduler was gone"),
      });
    });

    test("an attempt that does not listen is killed when the lease is over", async () => {
      const stubborn = shell(dir, `trap "" TERM; while :; do sleep 0.05; done`);
      const [process] = await crashed([stubborn], { lease: millis(100), grace: millis(100) });
      await gone(process);
    });

    test("the watchdog stops what left its group, too", async () => {
      const stray = "setsid sh -c 'echo $$ > child; sleep 300' & sleep 300";
      const written = (): void => expect(readFileSync(join(dir, "child"), "utf8")).toMatch(/^\d+\n$/);
      await crashed([shell(dir, stray)], { lease: millis(300) }, written);
      await gone(processIdentity(Number(readFileSync(join(dir, "child"), "utf8"))));
    });

    test("the watchdog stops what runs although the state directory was removed", async () => {
      const [process] = await crashed([waiting()], { lease: millis(300) });
      rmSync(state, { recursive: true });
      await gone(process);
    });

    test("a watchdog that is late stops nothing that another scheduler has taken over", async () => {
      const [process] = await crashed([waiting()], { lease: millis(500) });
      const [watchdog] = watchdogs();
      const handle = await open().adopt(waiting(), process, told());
      await gone(watchdog);
      go();
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
    });

    test("what was adopted is stopped by the watchdog of the scheduler that adopted it", async () => {
      const [process] = await crashed([waiting()]);
      const second = schedule([], { lease: millis(300) }, [waiting()]);
      await eventually(() => expect(second.said.some((line) => line.process)).toBe(true));
      await second.kill();
      await gone(process);
      const handle = await open().adopt(waiting(), process, told());
      expect(await handle?.outcome).toMatchObject({
        kind: "lost",
        message: expect.stringContaining("scheduler was gone"),
      });
    });

    test("attempts stop at once where that is asked for", async () => {
      const [process] = await crashed([waiting()], { orphans: "stop", lease: seconds(3_600) });
      await gone(process);
    });
  });

  describe("after scheduler and wrapper were killed", () => {
    /** Returns the process that has no parent of ours any more. */
    async function stranded(attempt: Attempt): Promise<ProcessIdentity> {
      const [process] = await crashed([attempt]);
      for (const wrapper of wrappers()) {
        globalThis.process.kill(wrapper.pid, "SIGKILL");
        await gone(wrapper);
      }
      expect(process && isAlive(process)).toBe(true);
      return process as ProcessIdentity;
    }

    test("a process that still runs is ended and counts as lost", async () => {
      const process = await stranded(waiting());
      const watch = told();
      const handle = await open().adopt(waiting(), process, watch);
      expect(await handle?.outcome).toMatchObject({ kind: "lost" });
      expect(isAlive(process)).toBe(false);
      expect(watch.starts).toEqual([process]);
    });

    test("a process that has ended without a word is lost, and is not begun again for nothing", async () => {
      const process = await stranded(waiting());
      globalThis.process.kill(-process.pid, "SIGKILL");
      await gone(process);
      const handle = await open().adopt(waiting(), undefined, told());
      expect(await handle?.outcome).toMatchObject({ kind: "lost", message: "its wrapper was gone" });
    });

    test("half a line of outcome is none", async () => {
      const process = await stranded(waiting());
      writeFileSync(join(attemptDirectory(state, waiting()), "outcome"), "0");
      globalThis.process.kill(-process.pid, "SIGKILL");
      await gone(process);
      const handle = await open().adopt(waiting(), process, told());
      expect(await handle?.outcome).toMatchObject({ kind: "lost" });
    });

    test("one whose leader has ended is found by what it carries", async () => {
      const attempt = shell(dir, `sleep 300 & echo $! > child; ${WAITING}`);
      const process = await stranded(attempt);
      // That it runs is told before it has come so far.
      await eventually(() => expect(readFileSync(join(dir, "child"), "utf8")).toMatch(/^\d+\n$/));
      const child = processIdentity(Number(readFileSync(join(dir, "child"), "utf8"))) as ProcessIdentity;
      globalThis.process.kill(process.pid, "SIGKILL");
      await gone(process);
      const handle = await open().adopt(attempt, process, told());
      expect(await handle?.outcome).toMatchObject({ kind: "lost" });
      expect(isAlive(child)).toBe(false);
    });

    test("a sweep finds it too", async () => {
      const process = await stranded(waiting());
      const executor = open();
      expect(await executor.sweep()).toBe(1);
      expect(isAlive(process)).toBe(false);
      expect(wrappers().map(isAlive)).toEqual([true]);
    });

    test("a stranger who got the number is left alone", async () => {
      const stranger = processIdentity(process.pid) as ProcessIdentity;
      expect(await open().adopt(waiting(), { ...stranger, startTime: "1" }, told())).toBeUndefined();
      expect(await open().adopt(waiting(), { ...stranger, bootId: "another" }, told())).toBeUndefined();
    });

    test("one of an earlier start of the machine is lost, whatever it wrote", async () => {
      const attempt = waiting();
      const directory = attemptDirectory(state, attempt);
      mkdirSync(directory, { recursive: true });
      writeFileSync(join(directory, "begun"), `another ${process.pid} 1\n`);
      writeFileSync(join(directory, "outcome"), "0\n");
      const handle = await open().adopt(attempt, undefined, told());
      expect(await handle?.outcome).toMatchObject({ kind: "lost" });
    });
  });

  describe("when a wrapper is killed", () => {
    test("what it ran is ended and lost, what others run goes on, and further work has a new one", async () => {
      const executor = open();
      const [first, second] = [told(), told()];
      const handle = executor.start(waiting(), first);
      const other = executor.start(waiting({ fence: 2 }), second);
      await eventually(() => expect([...first.starts, ...second.starts]).toHaveLength(2));
      const wrapper = slotsLeft(state).find(
        ({ directory }) => directory === attemptDirectory(state, waiting()),
      )?.wrapper;
      process.kill(wrapper?.pid ?? 0, "SIGKILL");
      expect(await handle.outcome).toMatchObject({ kind: "lost", message: "its wrapper died" });
      expect(isAlive(first.starts[0] as ProcessIdentity)).toBe(false);
      expect(await executor.start(shell(dir, "exit 3", { fence: 3 }), told()).outcome).toMatchObject({ code: 3 });
      go();
      expect(await other.outcome).toMatchObject({ code: 5 });
    });

    test("the secrets in the log of what it ran are masked", async () => {
      const environment = { ...process.env, TOKEN: "hunter2-hunter2" };
      const executor = openProcessExecutor({ stateDir: state, clock: systemClock(), environment });
      ends.push(() => executor[Symbol.asyncDispose]());
      const attempt = shell(dir, "echo $KEY; touch ready; sleep 300", { env: { KEY: { from: "TOKEN" } } });
      const handle = executor.start(attempt, told());
      await exists(join(dir, "ready"));
      for (const wrapper of wrappers()) process.kill(wrapper.pid, "SIGKILL");
      expect(await handle.outcome).toMatchObject({ kind: "lost" });
      expect(log()).not.toContain("hunter2");
    });

    test("asked politely, it stays until it has written down how its attempt ended", async () => {
      const executor = open();
      const watch = told();
      const handle = executor.start(waiting(), watch);
      await eventually(() => expect(watch.starts).toHaveLength(1));
      for (const wrapper of wrappers()) process.kill(wrapper.pid, "SIGTERM");
      go();
      expect(await handle.outcome).toMatchObject({ kind: "exit", code: 5 });
    });
  });
});

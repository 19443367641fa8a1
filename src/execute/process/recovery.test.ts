import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LoneScheduler } from "../../../test/rig/lone-scheduler.ts";
import type { ProcessIdentity } from "../../domain/task.ts";
import { millis, seconds } from "../../domain/time.ts";
import { systemClock } from "../../effects/clock.ts";
import { isAlive, processIdentity } from "../../effects/host.ts";
import { CANCELLED, eventually, exists, shell, told } from "../conformance.ts";
import type { Attempt, Executor } from "../executor.ts";
import { openProcessExecutor } from "./executor.ts";
import { readRecords } from "./files.ts";
import { FORKERS, type ProcessOptions } from "./options.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

let dir: string;
let state: string;
let forker: ProcessOptions["forker"];
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
  const executor = openProcessExecutor({ stateDir: state, clock: systemClock(), options: { forker, ...options } });
  ends.push(() => executor[Symbol.asyncDispose]());
  return executor;
};
const spawners = (): ProcessIdentity[] => readRecords(join(state, "processes")).map(({ process }) => process);
const gone = (identity: ProcessIdentity | undefined): Promise<void> =>
  eventually(() => expect(identity !== undefined && isAlive(identity)).toBe(false));
/** An attempt that runs until the test makes the file `go`, and then ends in a way one can tell. */
const waiting = (changes: Partial<Attempt> = {}): Attempt => shell(dir, WAITING, changes);
const WAITING = "echo begun; while [ ! -e go ]; do sleep 0.02; done; echo over; exit 5";
const go = (): void => writeFileSync(join(dir, "go"), "");
const log = (): string => readFileSync(join(dir, "logs", "task.log"), "utf8");

function schedule(attempts: readonly Attempt[], options: Partial<ProcessOptions>, execPath?: string): LoneScheduler {
  const scheduler = new LoneScheduler({ stateDir: state, options: { forker, ...options }, attempts }, execPath);
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

describe.each(FORKERS)("forked through %s,", (way) => {
  beforeEach(() => {
    forker = way;
  });

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

    test("an attempt is found although nobody had heard that it started", async () => {
      await crashed([waiting()]);
      const handle = await open().adopt(waiting(), undefined, told());
      go();
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
    });

    test("the end of an attempt is remembered while nobody listens", async () => {
      const [process] = await crashed([waiting()]);
      const [spawner] = spawners();
      go();
      await gone(spawner);
      const watch = told();
      const executor = open();
      const handle = await executor.adopt(waiting(), process, watch);
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
      expect(watch.starts).toEqual([process]);
      expect(await executor.sweep()).toBe(0);
      expect(readdirSync(join(state, "processes")).filter((name) => name.endsWith(".ends.jsonl"))).toEqual([]);
    });

    test("an end that was heard and perhaps not saved is told again", async () => {
      const scheduler = schedule([shell(dir, "exit 9")], {});
      await eventually(() => expect(scheduler.said.some((line) => line.outcome)).toBe(true));
      await scheduler.kill();
      const handle = await open().adopt(shell(dir, "exit 9"), undefined, told());
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 9 });
    });

    test("one that ended after it was adopted, and whose end was perhaps not saved before the sweep, is told again", async () => {
      const [process] = await crashed([waiting()]);
      const next = open();
      const handle = await next.adopt(waiting(), process, told());
      go();
      await handle?.outcome;
      await next.sweep();
      const again = await open().adopt(waiting(), process, told());
      expect(await again?.outcome).toMatchObject({ kind: "exit", code: 5 });
    });

    test("a spawner that comes up only then begins nothing: nobody could have known of it", async () => {
      const [late, there] = [join(dir, "late"), join(dir, "there")];
      const program = forker === "perl" ? "/usr/bin/perl" : process.execPath;
      const wait = `while [ ! -e ${join(dir, "go")} ]; do sleep 0.02; done`;
      writeFileSync(late, `#!/bin/sh\necho $$ > ${there}\n${wait}\nexec ${program} "$@"\n`, { mode: 0o700 });
      const attempt = shell(dir, "echo begun >> trace");
      const scheduler = schedule([attempt], { perl: late }, forker === "node" ? late : undefined);
      await eventually(() => expect(readFileSync(there, "utf8")).toMatch(/\d\n/));
      const spawner = processIdentity(Number(readFileSync(there, "utf8")));
      await scheduler.kill();
      expect(await open().adopt(attempt, undefined, told())).toBeUndefined();
      go();
      await gone(spawner);
      expect(existsSync(join(dir, "trace"))).toBe(false);
      expect(spawners()).not.toContainEqual(spawner);
    });

    test("ends are written down at once, not only when the spawner goes", async () => {
      const scheduler = schedule([waiting(), shell(dir, "exit 9", { fence: 2 })], {});
      await eventually(() => expect(scheduler.said.some((line) => line.process)).toBe(true));
      await eventually(() => expect(scheduler.said.some((line) => line.outcome)).toBe(true));
      await scheduler.kill();
      const files = () => readdirSync(join(state, "processes")).filter((name) => name.endsWith(".ends.jsonl"));
      const ended = () => files().filter((name) => readFileSync(join(state, "processes", name), "utf8").endsWith("\n"));
      await eventually(() => expect(ended()).toHaveLength(1));
      for (const spawner of spawners()) process.kill(spawner.pid, "SIGKILL");
      const executor = open();
      const handle = await executor.adopt(shell(dir, "exit 9", { fence: 2 }), undefined, told());
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 9 });
      expect(await executor.sweep()).toBe(1);
    });

    test("what nobody adopts is swept, what was adopted is not", async () => {
      const attempts = [waiting(), waiting({ fence: 2 }), waiting({ fence: 3 })];
      const [first, second, third] = await crashed(attempts);
      const [old] = spawners();
      const executor = open();
      const handle = await executor.adopt(waiting({ fence: 2 }), second, told());
      expect(await executor.sweep()).toBe(2);
      expect([first, second, third].map((process) => process && isAlive(process))).toEqual([false, true, false]);
      go();
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
      await gone(old);
    });

    test("the old spawner leaves once it is swept", async () => {
      await crashed([waiting()]);
      const old = spawners();
      const executor = open();
      expect(await executor.sweep()).toBe(1);
      for (const spawner of old) await gone(spawner);
      await executor[Symbol.asyncDispose]();
      expect(readdirSync(join(state, "processes")).sort()).toEqual(["compiled", "identity.json", "spawner.log"]);
    });

    test("several old spawners are found", async () => {
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

    test("attempts stop by themselves when nobody comes within the lease", async () => {
      const begun = (): void => expect(log()).toBe("begun\n");
      const [process] = await crashed([waiting()], { lease: millis(300) }, begun);
      const [spawner] = spawners();
      await gone(process);
      await gone(spawner);
      // Whether it got as far as its first word in so short a time is not what matters.
      expect(log()).not.toContain("over");
      const handle = await open().adopt(waiting(), process, told());
      expect(await handle?.outcome).toMatchObject({
        kind: "lost",
        message: expect.stringContaining("scheduler was gone"),
      });
    });

    test("one that does not listen is killed when the lease is over", async () => {
      const stubborn = shell(dir, `trap "" TERM; while :; do sleep 0.05; done`);
      const [process] = await crashed([stubborn], { lease: millis(100), grace: millis(100) });
      await gone(process);
    });

    test("attempts stop at once where that is asked for", async () => {
      const [process] = await crashed([waiting()], { orphans: "stop", lease: seconds(3_600) });
      await gone(process);
    });

    test("a path too long for a socket is no obstacle", async () => {
      state = join(dir, "long".repeat(30), "state");
      mkdirSync(state, { recursive: true });
      const [process] = await crashed([waiting()]);
      const sockets = readRecords(join(state, "processes")).map(({ socket }) => socket);
      expect(sockets[0]?.length).toBeLessThan(100);
      const handle = await open().adopt(waiting(), process, told());
      go();
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
      await eventually(() => expect(sockets.filter((socket) => existsSync(socket))).toEqual([]));
    });
  });

  describe("after scheduler and spawner were killed", () => {
    /** Returns the process that nobody looks after any more. */
    async function stranded(attempt: Attempt): Promise<ProcessIdentity> {
      const [process] = await crashed([attempt]);
      for (const spawner of spawners()) globalThis.process.kill(spawner.pid, "SIGKILL");
      for (const spawner of spawners()) await gone(spawner);
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

    test("a sweep finds it too, and clears the table", async () => {
      const process = await stranded(waiting());
      const executor = open();
      expect(await executor.sweep()).toBe(1);
      expect(isAlive(process)).toBe(false);
      expect(await executor.adopt(waiting(), process, told())).toBeUndefined();
      await eventually(() => expect(spawners()).toHaveLength(1));
    });

    test("a stranger who got the number is left alone", async () => {
      const stranger = processIdentity(process.pid) as ProcessIdentity;
      expect(await open().adopt(waiting(), { ...stranger, startTime: "1" }, told())).toBeUndefined();
      expect(await open().adopt(waiting(), { ...stranger, bootId: "another" }, told())).toBeUndefined();
    });
  });

  describe("when the spawner is killed", () => {
    test("what ran is ended and lost, and further work has a new one", async () => {
      const executor = open();
      const watch = told();
      const handle = executor.start(waiting(), watch);
      await eventually(() => expect(watch.starts).toHaveLength(1));
      for (const spawner of spawners()) process.kill(spawner.pid, "SIGKILL");
      expect(await handle.outcome).toMatchObject({
        kind: "lost",
        message: expect.stringContaining("its spawner died"),
      });
      expect(isAlive(watch.starts[0] as ProcessIdentity)).toBe(false);
      expect(await executor.start(shell(dir, "exit 3", { fence: 2 }), told()).outcome).toMatchObject({ code: 3 });
    });

    test("the secrets it could not mask are masked", async () => {
      const environment = { ...process.env, TOKEN: "hunter2-hunter2" };
      const executor = openProcessExecutor({ stateDir: state, clock: systemClock(), environment, options: { forker } });
      ends.push(() => executor[Symbol.asyncDispose]());
      const attempt = shell(dir, "echo $KEY; touch ready; sleep 300", { env: { KEY: { from: "TOKEN" } } });
      const handle = executor.start(attempt, told());
      await exists(join(dir, "ready"));
      for (const spawner of spawners()) process.kill(spawner.pid, "SIGKILL");
      await handle.outcome;
      expect(log()).not.toContain("hunter2");
    });

    test("asked politely, it stops what runs before it goes", async () => {
      const executor = open();
      const watch = told();
      const handle = executor.start(waiting(), watch);
      await eventually(() => expect(watch.starts).toHaveLength(1));
      const [spawner] = spawners();
      process.kill(spawner?.pid ?? 0, "SIGTERM");
      expect(await handle.outcome).toMatchObject({ kind: "lost" });
      await gone(spawner);
      // That it is gone is heard of a moment after it is; what is started in between is lost with it.
      let fence = 1;
      await eventually(async () => {
        const next = executor.start(shell(dir, "exit 3", { fence: ++fence }), told());
        expect(await next.outcome).toMatchObject({ code: 3 });
      });
    });

    test("one that cannot even be started loses the attempt, and says where to look", async () => {
      const executor = open({ forker: "node" });
      await eventually(() => expect(spawners()).toHaveLength(1));
      const [spawner] = spawners();
      rmSync(join(state, "processes", "identity.json"));
      process.kill(spawner?.pid ?? 0, "SIGKILL");
      await gone(spawner);
      const outcome = await executor.start(shell(dir, "true"), told()).outcome;
      expect(outcome).toMatchObject({ kind: "lost", message: expect.stringContaining("spawner.log") });
    });
  });

  describe("who commands a spawner", () => {
    test("the newest scheduler does, and the one before learns that it does not", async () => {
      const watch = told();
      const before = open().start(waiting(), watch);
      await eventually(() => expect(watch.starts).toHaveLength(1));
      const after = await open().adopt(waiting(), watch.starts[0], told());
      expect(await before.outcome).toMatchObject({ kind: "lost", message: "another scheduler took over" });
      go();
      expect(await after?.outcome).toMatchObject({ kind: "exit", code: 5 });
    });

    test("nobody without the secret, and nonsense is ignored", async () => {
      const executor = open();
      await executor.start(shell(dir, "true"), told()).outcome;
      const [record] = readRecords(join(state, "processes"));
      const socket = createConnection(record?.socket ?? "");
      const order = {
        kind: "start",
        key: "a/b/1",
        work: { shell: "touch forged" },
        cwd: dir,
        env: {},
        nice: 0,
        log: join(dir, "l"),
      };
      const hello = { kind: "hello", secret: "wrong", settings: {}, environment: {} };
      const lines = ["not json", "[]", "null", '{"kind":"constructor"}', '{"kind":"start"}', JSON.stringify(order)];
      socket.write(`${[...lines, JSON.stringify(hello), JSON.stringify(order)].join("\n")}\n`);
      socket.resume();
      await once(socket, "close");
      expect(await executor.start(shell(dir, "exit 3", { fence: 2 }), told()).outcome).toMatchObject({ code: 3 });
      expect(existsSync(join(dir, "forged"))).toBe(false);
    });
  });
});

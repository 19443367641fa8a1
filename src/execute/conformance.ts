/** What every executor promises, as tests. An implementation's own test file calls this and adds what is peculiar to it. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { runId, taskId, workerId } from "../domain/ids.ts";
import type { ProcessIdentity, StopReason } from "../domain/task.ts";
import { millis, seconds } from "../domain/time.ts";
import type { Attempt, Executor, Handle, Place, Watch } from "./executor.ts";

/** A watch that remembers what it was told. */
export interface Told extends Watch {
  readonly starts: (ProcessIdentity | undefined)[];
  readonly sayings: string[];
  progress: number;
}

export function told(): Told {
  const starts: (ProcessIdentity | undefined)[] = [];
  const sayings: string[] = [];
  return {
    starts,
    sayings,
    progress: 0,
    said: ({ text }) => void sayings.push(text),
    started: (process) => void starts.push(process),
    progressed() {
      this.progress++;
    },
  };
}

export const CANCELLED: StopReason = { kind: "cancelled", asked: { by: "a person", why: "a test" } };

/** `directory`, for a worker of this machine. */
export const place = (directory: string): Place => ({ worker: workerId("local/1"), node: "local", directory });

/** The smallest attempt in `dir`: a shell line, and whatever matters to the test. */
export const shell = (dir: string, line: string, changes: Partial<Attempt> = {}): Attempt => ({
  run: runId("run"),
  task: taskId("task"),
  fence: 1,
  work: { shell: line },
  where: place(dir),
  env: {},
  priority: "normal",
  log: join(dir, "logs", "task.log"),
  ...changes,
});

export const eventually = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 10_000, interval: 10 });
export const exists = (path: string): Promise<void> => eventually(() => expect(existsSync(path)).toBe(true));

/** `open` gets a fresh directory, for its state and whatever else it needs. */
export function executorConformance(open: (dir: string) => Executor | Promise<Executor>): void {
  describe("keeps the contract of executors:", () => {
    let dir: string;
    let executor: Executor;
    let watch: Told;
    const start = (line: string, changes: Partial<Attempt> = {}): Handle =>
      executor.start(shell(dir, line, changes), watch);

    beforeEach(async () => {
      dir = mkdtempSync(join(tmpdir(), "rota-execute-"));
      executor = await open(join(dir, "state"));
      watch = told();
    });
    afterEach(async () => {
      await executor[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
    });

    test("an attempt that ends well is a success, told to have started once and before", async () => {
      const handle = start("true");
      expect(watch.starts).toEqual([]);
      expect(await handle.outcome).toMatchObject({ kind: "success", durationMs: expect.any(Number) });
      expect(watch.starts).toHaveLength(1);
    });

    test("an exit code is kept", async () => {
      expect(await start("exit 7").outcome).toMatchObject({ kind: "exit", code: 7 });
    });

    test("a list is run as it is, without a shell", async () => {
      await start("", { work: { argv: ["printf", "%s|", "a b", "$HOME", "*"] } }).outcome;
      expect(readFileSync(join(dir, "logs", "task.log"), "utf8")).toBe("a b|$HOME|*|");
    });

    test("a command that does not exist could not be started, and is named", async () => {
      const outcome = await start("", { work: { argv: ["no-such-command-here"] } }).outcome;
      expect(outcome).toMatchObject({ kind: "spawn", message: "command not found: no-such-command-here" });
      expect(watch.starts).toEqual([]);
    });

    test("a directory that does not exist is named", async () => {
      const nowhere = join(dir, "nowhere");
      const outcome = await start("true", { where: place(nowhere) }).outcome;
      expect(outcome).toMatchObject({ kind: "spawn", message: `the directory ${nowhere} does not exist` });
    });

    test("it runs in its directory, and knows which attempt it is", async () => {
      await start('echo "$PWD $ROTA_RUN $ROTA_TASK $ROTA_ATTEMPT $ROTA_FENCE"', { fence: 3 }).outcome;
      expect(readFileSync(join(dir, "logs", "task.log"), "utf8")).toBe(`${dir} run task 3 3\n`);
    });

    test("the log has both streams, in the order written, whole, when the outcome is told", async () => {
      await start("i=0; while [ $i -lt 2000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done").outcome;
      const expected = Array.from({ length: 2000 }, (_, index) => `out ${index}\nerr ${index}\n`).join("");
      expect(readFileSync(join(dir, "logs", "task.log"), "utf8")).toBe(expected);
    });

    test("a stopped attempt ends for the reason it was stopped", async () => {
      const reasons: readonly (readonly [StopReason, object])[] = [
        [CANCELLED, { kind: "cancelled" }],
        [{ kind: "shutdown" }, { kind: "shutdown" }],
        [
          { kind: "timeout", limit: "soft" },
          { kind: "timeout", limit: "soft" },
        ],
      ];
      for (const [reason, expected] of reasons) {
        const handle = start("sleep 60");
        handle.stop(reason, seconds(5));
        expect(await handle.outcome).toMatchObject(expected);
      }
    });

    test("an attempt that does not listen is killed after the grace", async () => {
      const ready = join(dir, "ready");
      const handle = start(`trap "" TERM; touch ${ready}; while :; do sleep 0.05; done`);
      await exists(ready);
      handle.stop({ kind: "timeout", limit: "hard" }, millis(100));
      expect(await handle.outcome).toMatchObject({ kind: "timeout", limit: "hard" });
    });

    test("the grace can be shortened, the first reason stands", async () => {
      const ready = join(dir, "ready");
      const handle = start(`trap "" TERM; touch ${ready}; while :; do sleep 0.05; done`);
      await exists(ready);
      handle.stop(CANCELLED, seconds(600));
      handle.stop({ kind: "shutdown" }, millis(0));
      expect(await handle.outcome).toMatchObject({ kind: "cancelled" });
    });

    test("what outlives its soft limit until the hard one ends for that", async () => {
      const ready = join(dir, "ready");
      const handle = start(`trap "" TERM; touch ${ready}; while :; do sleep 0.05; done`);
      await exists(ready);
      handle.stop({ kind: "timeout", limit: "soft" }, seconds(600));
      handle.stop({ kind: "timeout", limit: "hard" }, millis(0));
      expect(await handle.outcome).toMatchObject({ kind: "timeout", limit: "hard" });
    });

    test("stopping what has ended is harmless", async () => {
      const handle = start("true");
      await handle.outcome;
      handle.stop(CANCELLED, millis(0));
      expect(await handle.outcome).toMatchObject({ kind: "success" });
      expect(await start("true", { fence: 2 }).outcome).toMatchObject({ kind: "success" });
    });

    test("a variable taken from the scheduler that is not set is a failure to start, and is named", async () => {
      const outcome = await start("true", { env: { TOKEN: { from: "ROTA_TEST_UNSET" } } }).outcome;
      expect(outcome).toMatchObject({ kind: "spawn", message: expect.stringContaining("ROTA_TEST_UNSET") });
    });

    test("many run at once and none is lost", async () => {
      const codes = Array.from({ length: 60 }, (_, index) => index % 5);
      const outcomes = codes.map((code, index) => start(`exit ${code}`, { fence: index + 1 }).outcome);
      const ended = await Promise.all(outcomes);
      expect(ended.map((outcome) => (outcome.kind === "exit" ? outcome.code : 0))).toEqual(codes);
    });

    test("nothing is adopted or swept where nothing was left", async () => {
      expect(await executor.adopt(shell(dir, "true"), undefined, watch)).toBeUndefined();
      expect(await executor.sweep()).toBe(0);
    });

    test("what is left runs on, is adopted by the next one, and ends there", async () => {
      const [ready, go] = [join(dir, "ready"), join(dir, "go")];
      const line = `touch ${ready}; while [ ! -e ${go} ]; do sleep 0.02; done; exit 5`;
      start(line);
      await exists(ready);
      // Where attempts end with their process, there is nothing to leave.
      if (executor.leave === undefined) return;
      executor.leave();
      await executor[Symbol.asyncDispose]();
      executor = await open(join(dir, "state"));
      const handle = await executor.adopt(shell(dir, line), watch.starts[0], told());
      writeFileSync(go, "");
      expect(await handle?.outcome).toMatchObject({ kind: "exit", code: 5 });
    });

    test("disposing stops what runs, and nothing is started afterwards", async () => {
      const handle = start("sleep 60");
      await executor[Symbol.asyncDispose]();
      expect(await handle.outcome).toMatchObject({ kind: "shutdown" });
      expect(await start("true", { fence: 2 }).outcome).toMatchObject({ kind: "shutdown" });
      await executor[Symbol.asyncDispose]();
    });
  });
}

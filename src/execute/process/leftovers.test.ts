import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { millis, seconds } from "../../domain/time.ts";
import { systemClock } from "../../effects/clock.ts";
import { processIdentity } from "../../effects/host.ts";
import { CANCELLED, eventually, exists, shell, told } from "../conformance.ts";
import type { Attempt, Executor, Handle } from "../executor.ts";
import { openProcessExecutor } from "./executor.ts";

// Real processes on a machine that may be busy.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

describe("nothing survives its task:", () => {
  /** Nothing survives its task: when an outcome is told, every process of the attempt is gone. */
  let dir: string;
  let executor: Executor;

  beforeEach(() => {
    dir = mkdtempSync(join(tmpdir(), "rota-leftovers-"));
    const options = { leftoverGrace: millis(200) };
    executor = openProcessExecutor({ stateDir: join(dir, "state"), clock: systemClock(), options });
  });
  afterEach(async () => {
    await executor[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
  });

  const start = (line: string, changes: Partial<Attempt> = {}): Handle =>
    executor.start(shell(dir, line, changes), told());
  /** The processes that wrote their ids to the file `pids`. */
  const pids = (): number[] => readFileSync(join(dir, "pids"), "utf8").trim().split("\n").map(Number);
  const living = (): number[] => pids().filter((pid) => processIdentity(pid) !== undefined);
  const STUBBORN = `trap "" TERM HUP INT; echo $$ >> pids; touch ready; while :; do sleep 0.05; done`;
  const READY = "while [ ! -e ready ]; do sleep 0.01; done";

  test("grandchildren end with a stopped attempt", async () => {
    const handle = start(
      `sleep 300 & echo $! >> pids; (sleep 300 & echo $! >> pids; wait) & echo $! >> pids; touch ready; wait`,
    );
    await exists(join(dir, "ready"));
    await eventually(() => expect(living()).toHaveLength(3));
    handle.stop(CANCELLED, seconds(5));
    expect(await handle.outcome).toMatchObject({ kind: "cancelled" });
    expect(living()).toEqual([]);
  });

  test("grandchildren that do not listen are killed, even where the leader went at once", async () => {
    const handle = start(`sh -c '${STUBBORN}' & ${READY}; wait`);
    await exists(join(dir, "ready"));
    handle.stop(CANCELLED, millis(200));
    expect(await handle.outcome).toMatchObject({ kind: "cancelled" });
    expect(living()).toEqual([]);
  });

  test("what is left when the leader ends by itself is ended too, and the outcome stays the leader's", async () => {
    expect(await start("sleep 300 & echo $! >> pids; exit 4").outcome).toMatchObject({ kind: "exit", code: 4 });
    expect(living()).toEqual([]);
  });

  test("what is left and does not listen is killed", async () => {
    expect(await start(`sh -c '${STUBBORN}' & ${READY}`).outcome).toMatchObject({ kind: "success" });
    expect(living()).toEqual([]);
  });

  test("a process that left the group is found when the attempt is stopped", async () => {
    const handle = start(`setsid sh -c '${STUBBORN}' & sleep 300`);
    await exists(join(dir, "ready"));
    expect(living()).toHaveLength(1);
    handle.stop(CANCELLED, millis(200));
    await handle.outcome;
    expect(living()).toEqual([]);
  });

  test("a process that left the group is asked together with the leader, not after it", async () => {
    const polite = `trap "echo bye; exit" TERM; touch ready; while :; do sleep 0.02; done`;
    const patient = "while kill -0 $! 2>/dev/null; do sleep 0.02; done; echo after";
    const handle = start(`trap : TERM; setsid sh -c '${polite}' & ${patient}`);
    await exists(join(dir, "ready"));
    handle.stop(CANCELLED, seconds(20));
    await handle.outcome;
    expect(readFileSync(join(dir, "logs", "task.log"), "utf8")).toMatch(/bye\n(.*\n)*after\n/);
  });

  test("a process that left the group of an attempt that took its time is gone with the outcome", async () => {
    expect(await start(`setsid sh -c '${STUBBORN}' & ${READY}; sleep 1.2`).outcome).toMatchObject({ kind: "success" });
    expect(living()).toEqual([]);
  });

  test("a process that left the group of a quick attempt is gone soon after", async () => {
    expect(await start(`setsid sh -c '${STUBBORN}' & ${READY}`).outcome).toMatchObject({ kind: "success" });
    await eventually(() => expect(living()).toEqual([]));
  });

  test("a process that left the group of a quick attempt does not outlive the executor", async () => {
    expect(await start(`setsid sh -c '${STUBBORN}' & ${READY}`).outcome).toMatchObject({ kind: "success" });
    await executor[Symbol.asyncDispose]();
    expect(living()).toEqual([]);
  });

  test("a sweep after a quick attempt does not touch an attempt that still runs", async () => {
    const handle = start(`setsid sh -c '${STUBBORN}' & sleep 300`);
    await exists(join(dir, "ready"));
    expect(await start(`setsid sleep 300 & echo $! >> quick`, { fence: 2 }).outcome).toMatchObject({ kind: "success" });
    const quick = Number(readFileSync(join(dir, "quick"), "utf8"));
    await eventually(() => expect(processIdentity(quick)).toBeUndefined());
    expect(living()).toHaveLength(1);
    handle.stop(CANCELLED, millis(0));
    await handle.outcome;
    expect(living()).toEqual([]);
  });

  test("a child that was put to sleep is woken to hear that it should end", async () => {
    const handle = start(`trap "echo woken; exit" TERM; echo $$ >> pids; kill -STOP $$; sleep 300`);
    const asleep = /\) T /;
    await eventually(() => expect(readFileSync(`/proc/${pids()[0]}/stat`, "utf8")).toMatch(asleep));
    handle.stop(CANCELLED, seconds(60));
    expect(await handle.outcome).toMatchObject({ kind: "cancelled" });
    expect(readFileSync(join(dir, "logs", "task.log"), "utf8")).toBe("woken\n");
  });
});

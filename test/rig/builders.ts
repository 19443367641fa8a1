/** The smallest values of the domain, to be given only what a test is about. */
import { type TaskNo, taskNo } from "../../src/domain/graph.ts";
import { runId, taskId } from "../../src/domain/ids.ts";
import type { Outcome } from "../../src/domain/outcome.ts";
import { type Run, type RunManifest, runNo } from "../../src/domain/run.ts";
import { RETRY_DEFAULT, type RetryPolicy, SPEC_DEFAULTS, type TaskSpec } from "../../src/domain/spec.ts";
import type { ProcessIdentity, Status, Task } from "../../src/domain/task.ts";
import { millis } from "../../src/domain/time.ts";
import { newRun } from "../../src/domain/world.ts";
import { hostName } from "../../src/effects/machine.ts";
import type { Owner } from "../../src/store/store.ts";
import { START } from "./clock.ts";

type Loose = Omit<Partial<TaskSpec>, "id" | "needs" | "after" | "retry"> & {
  readonly needs?: readonly string[];
  readonly after?: readonly string[];
  readonly retry?: Partial<RetryPolicy>;
};

/** `task("ship", { needs: ["build"] })`. */
export function task(id: string, { needs = [], after = [], retry, ...rest }: Loose = {}): TaskSpec {
  return {
    ...SPEC_DEFAULTS,
    id: taskId(id),
    run: { argv: ["true"] },
    ...rest,
    needs: needs.map(taskId),
    after: after.map(taskId),
    ...(retry !== undefined && { retry: { ...RETRY_DEFAULT, ...retry } }),
  };
}

export const manifest = (rest: Partial<RunManifest> = {}): RunManifest => ({
  id: runId("run-1"),
  name: "plan",
  submittedAt: START,
  directory: "/plan",
  file: "rota.yaml",
  digest: "d1",
  seed: 7,
  resources: {},
  carried: [],
  ...rest,
});

/** A run before anything has happened to it, for what needs no engine. */
export const run = (specs: readonly TaskSpec[], rest: Partial<RunManifest> = {}, no = 1): Run =>
  newRun(runNo(no), manifest(rest), specs);

/** A task of its own run, in the state a test is about. */
export const taskIn = (status: Status, spec: TaskSpec = task("a"), rest: Partial<Task> = {}): Task => ({
  ...(run([spec]).tasks[0] as Task),
  attempt: 1,
  status,
  ...rest,
});

export const no = (raw: number): TaskNo => taskNo(raw);
export const success: Outcome = { kind: "success", durationMs: millis(5) };
export const exit = (code: number): Outcome => ({ kind: "exit", code, durationMs: millis(5) });
export const identity = (pid: number): ProcessIdentity => ({ pid, startTime: `${pid}00`, bootId: "boot" });

/** Of this host, and of a start of it long ago: so it does not live. */
export const owner = (command: string, pid = 1): Owner => ({
  process: identity(pid),
  host: hostName(),
  command,
  since: START,
  workers: 2,
  capacity: { cpu: 2_000 },
});

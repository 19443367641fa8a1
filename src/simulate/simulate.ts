/** A plan on virtual time: the real engine, the real decisions, nothing run. What it will take, and where the time goes. */
import type { DispatcherOptions } from "../decide/dispatcher.ts";
import { type RunId, runId, type TaskId, workerId } from "../domain/ids.ts";
import type { Run, RunManifest } from "../domain/run.ts";
import type { Amounts, TaskSpec } from "../domain/spec.ts";
import { type Instant, instant, type Millis, millis } from "../domain/time.ts";
import { Engine } from "../engine/engine.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import type { Owner } from "../store/store.ts";
import { VirtualClock } from "./clock.ts";
import { simulatedExecutor } from "./executor.ts";

export interface Simulation {
  readonly specs: readonly TaskSpec[];
  readonly resources: Amounts;
  readonly options: Omit<DispatcherOptions, "workers"> & { readonly workers: number };
  /** True durations; a task without one takes its estimate, or a second. */
  readonly actual: (id: TaskId) => Millis | undefined;
}

export interface Placement {
  readonly task: TaskId;
  readonly worker: string;
  readonly start: Instant;
  readonly end: Instant;
}

export interface Simulated {
  readonly run: Run;
  readonly makespan: Millis;
  /** In the order in which they were started. */
  readonly schedule: readonly Placement[];
}

export const DURATION_UNKNOWN = millis(1_000);
const RUN: RunId = runId("simulation");
const NOBODY: Owner = {
  process: { pid: 0, startTime: "", bootId: "" },
  host: "nowhere",
  command: "simulate",
  since: instant(0),
  workers: 0,
  capacity: {},
};

export async function simulate({ specs, resources, options, actual }: Simulation): Promise<Simulated> {
  const clock = new VirtualClock();
  const store = openMemoryStore();
  const acquired = await store.acquire(NOBODY, () => false);
  const durations = new Map(specs.map((spec) => [spec.id, actual(spec.id) ?? spec.estimate ?? DURATION_UNKNOWN]));
  const engine = new Engine({
    store,
    epoch: acquired.ok ? acquired.value : 0,
    clock,
    secrets: { token: () => "", seed: () => 0, suffix: () => "" },
    executor: simulatedExecutor(clock, ({ task }) => durations.get(task) as Millis),
    attemptOf: (_, { spec, attempt }) => ({
      run: RUN,
      task: spec.id,
      fence: attempt,
      command: spec.run,
      cwd: "/",
      env: spec.env,
      priority: spec.priority,
      log: "",
    }),
    options: {
      ...options,
      workers: Array.from({ length: options.workers }, (_, index) => workerId(`worker/${index + 1}`)),
    },
  });
  await engine.open();
  const schedule = follow(engine, specs);
  let ended: Run | undefined;
  void engine
    .submit(manifestOf(resources), specs.map(withoutLimits))
    .then((run) => engine.idle(run))
    .then((run) => {
      ended = run;
    });
  await clock.run(() => ended !== undefined);
  engine.close();
  if (ended === undefined) throw new Error("the simulation came to no end");
  const placed = schedule();
  return { run: ended, makespan: millis(placed.reduce((last, { end }) => Math.max(last, end), 0)), schedule: placed };
}

/** Collects who did what when, from the events the engine commits. */
function follow(engine: Engine, specs: readonly TaskSpec[]): () => readonly Placement[] {
  const placed: { task: TaskId; worker: string; start: Instant; end: Instant }[] = [];
  const open = new Map<number, (typeof placed)[number]>();
  engine.listen((events) => {
    for (const event of events) {
      if (event.kind === "claimed") {
        const placement = {
          task: (specs[event.task] as TaskSpec).id,
          worker: event.worker,
          start: event.at,
          end: event.at,
        };
        placed.push(placement);
        open.set(event.task, placement);
      } else if (event.kind === "succeeded") {
        (open.get(event.task) as (typeof placed)[number]).end = event.at;
      }
    }
  });
  return () => placed;
}

const manifestOf = (resources: Amounts): RunManifest => ({
  id: RUN,
  name: "simulation",
  submittedAt: instant(0),
  directory: "/",
  file: "",
  digest: "",
  seed: 0,
  resources,
  carried: [],
});

/** Nobody waits for a person or is cut short on virtual time. */
function withoutLimits({ gate: _, ...spec }: TaskSpec): TaskSpec {
  return { ...spec, timeout: { hard: Number.MAX_SAFE_INTEGER as Millis } };
}

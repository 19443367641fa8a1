/** One instance through the real engine and dispatcher, on virtual time, and a check of what came out that trusts neither. */
import type { EstimateError } from "../../src/domain/history.ts";
import { runId, workerId } from "../../src/domain/ids.ts";
import type { Run, RunManifest } from "../../src/domain/run.ts";
import type { TaskSpec } from "../../src/domain/spec.ts";
import { hours, instant, type Millis, millis, minutes } from "../../src/domain/time.ts";
import { Engine, type EngineOptions } from "../../src/engine/engine.ts";
import { VirtualClock } from "../../src/simulate/clock.ts";
import { simulatedExecutor } from "../../src/simulate/executor.ts";
import { openMemoryStore } from "../../src/store/memory/store.ts";
import type { Instance } from "./instances.ts";

export interface Drive {
  readonly instance: Instance;
  /** What the scheduler believes; the instance's durations are what is true. */
  readonly estimates: readonly (number | undefined)[];
  /** What earlier runs have shown of how far estimates are off. */
  readonly error: EstimateError;
  readonly options?: Partial<EngineOptions>;
}

export interface Schedule {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
  readonly makespan: number;
}

const RUN = runId("quality");
/** Nobody dies here, and renewing leases over weeks of virtual time would be all the work. */
const LEASE = hours(1_000_000);

export async function drive({ instance, estimates, error, options }: Drive): Promise<Schedule> {
  const clock = new VirtualClock();
  const store = openMemoryStore();
  const epoch = await store.acquire({ process: { pid: 0, startTime: "", bootId: "" }, host: "", command: "", since: instant(0), workers: 0, capacity: {} }, () => false);
  const specs = instance.durations.map((_, no): TaskSpec => specOf(instance, no, estimates[no]));
  const durations = new Map(specs.map(({ id }, no) => [id, millis(instance.durations[no] as number)]));
  const engine = new Engine({
    store: { ...store, history: async () => ({ durations: new Map(), error }) },
    epoch: epoch.ok ? epoch.value : 0,
    clock,
    secrets: { token: () => "", seed: () => 0, suffix: () => "" },
    executor: simulatedExecutor(clock, ({ task }) => durations.get(task) as Millis),
    attemptOf: (_, { spec, attempt }) => ({ run: RUN, task: spec.id, fence: attempt, command: spec.run, cwd: "/", env: {}, priority: spec.priority, log: "" }),
    options: {
      workers: Array.from({ length: instance.workers }, (_, index) => workerId(`w${index}`)),
      capacity: {},
      capabilities: [],
      leaseTtl: LEASE,
      heartbeat: LEASE,
      ...options,
    },
  });
  return { starts: new Float64Array(), ends: new Float64Array(), makespan: 0 };
}

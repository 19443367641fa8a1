/** One instance through the real engine and dispatcher, on virtual time. */
import type { EstimateError } from "../../src/domain/durations/history.ts";
import { runId, workerId } from "../../src/domain/ids.ts";
import type { Run, RunManifest } from "../../src/domain/run.ts";
import type { Amounts, TaskSpec } from "../../src/domain/spec.ts";
import { instant, type Millis, millis } from "../../src/domain/time.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import { VirtualClock } from "../../src/simulate/clock.ts";
import { simulatedExecutor } from "../../src/simulate/executor.ts";
import { forgetfulStore } from "../../src/store/memory/forgetful.ts";
import type { Instance } from "./instances.ts";

export interface Belief {
  /** What the scheduler is told of each task's duration, in milliseconds; nothing when it has to do without. */
  readonly estimates: readonly (number | undefined)[];
  /** What earlier runs have shown of how far estimates are off. */
  readonly error: EstimateError;
}

/** When each task began and ended, in milliseconds. */
export interface Schedule {
  readonly starts: Float64Array;
  readonly ends: Float64Array;
}

export async function drive(
  instance: Instance,
  belief: Belief,
  policy: NonNullable<EngineOptions["policy"]>,
): Promise<Schedule> {
  const clock = new VirtualClock();
  const durations = new Map(instance.specs.map(({ id, estimate }) => [id, estimate as Millis]));
  const engine = new Engine({
    store: forgetfulStore({ durations: new Map(), error: belief.error }),
    epoch: 1,
    clock,
    secrets: { token: () => "", seed: () => 0, suffix: () => "" },
    executor: simulatedExecutor(clock, ({ task }) => durations.get(task) as Millis),
    logOf: () => "",
    options: {
      workers: Array.from({ length: instance.workers }, (_, at) => workerId(`worker/${at}`)),
      capacity: {},
      capabilities: [],
      leaseTtl: FOR_EVER,
      heartbeat: FOR_EVER,
      policy,
    },
  });
  await engine.open();
  const schedule = follow(engine, instance.specs.length);
  const told = instance.specs.map((spec, no) => tell(spec, belief.estimates[no]));
  const ended: Promise<Run> = engine.submit(manifestOf(instance.resources), told).then((run) => engine.idle(run));
  await clock.passUntil(ended);
  await engine.close();
  return schedule;
}

/** The task as the scheduler is told of it. */
export function tell(spec: TaskSpec, estimate: number | undefined): TaskSpec {
  const { estimate: _, ...rest } = spec;
  const timeout = { hard: FOR_EVER };
  return estimate === undefined ? { ...rest, timeout } : { ...rest, timeout, estimate: millis(estimate) };
}

const RUN = runId("quality");
/** No worker dies on virtual time; renewing leases over weeks of it would be all the work. */
const FOR_EVER = millis(2 ** 52);

/** Taken from the events the engine commits, and filled as time goes on. */
function follow(engine: Engine, size: number): Schedule {
  const starts = new Float64Array(size).fill(Number.NaN);
  const ends = new Float64Array(size).fill(Number.NaN);
  engine.listen((events) => {
    for (const event of events) {
      if (event.kind === "claimed") starts[event.task] = event.at;
      if (event.kind === "succeeded") ends[event.task] = event.at;
    }
  });
  return { starts, ends };
}

const manifestOf = (resources: Amounts): RunManifest => ({
  id: RUN,
  name: "quality",
  submittedAt: instant(0),
  directory: "/",
  file: "",
  digest: "",
  seed: 1,
  resources,
  carried: [],
});

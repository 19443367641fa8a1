/** A plan on virtual time: the real engine and the real decisions, without running anything. How long it will take, and where the time goes. */
import { blockers } from "../decide/explain/explain.ts";
import type { LanePolicy } from "../decide/queue/lanes.ts";
import type { NodeSpec } from "../decide/room/nodes.ts";
import type { History } from "../domain/durations/history.ts";
import type { Placement } from "../domain/durations/schedule.ts";
import { type RunId, runId, type WorkerId, workerId } from "../domain/ids.ts";
import { type Run, type RunManifest, taskOf } from "../domain/run.ts";
import { type Amounts, type Rates, SPEC_DEFAULTS, type TaskSpec } from "../domain/spec.ts";
import { type Instant, instant, type Millis, millis } from "../domain/time.ts";
import type { Blocker } from "../domain/waiting/explanation.ts";
import { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/options.ts";
import { forgetfulStore } from "../store/memory/forgetful.ts";
import { NEVER, VirtualClock } from "./clock.ts";
import { simulatedExecutor } from "./executor.ts";
import { bringSessions, sessionsOf } from "./sessions.ts";

/** What there is to work with, and the rules. */
export interface SiteSpec extends Pick<EngineOptions, "patience" | "pressure"> {
  /** How many machines, all alike. */
  readonly nodes: number;
  /** On each machine. */
  readonly workers: number;
  /** What each machine has. */
  readonly capacity: Amounts;
  /** What there is in all, however many machines there are. */
  readonly resources: Amounts;
  readonly rates: Rates;
  readonly priorities: LanePolicy;
  /** How many sessions each pool has. Each does one task at a time, whatever it asks of a session. */
  readonly pools: Readonly<Record<string, number>>;
}

export interface Simulation {
  readonly name: string;
  readonly specs: readonly TaskSpec[];
  readonly site: SiteSpec;
  /** How long each task really takes, in the order of `specs`. The scheduler does not know it. */
  readonly durations: readonly Millis[];
  /** What the scheduler knows of earlier runs. */
  readonly history: History;
}

export interface Simulated {
  readonly run: Run;
  /** When the last task ended. */
  readonly makespan: Millis;
  /** In the order in which they were started. */
  readonly schedule: readonly Placement[];
  /** The tasks that remain and cannot move, and why. Empty when everything was done. */
  readonly stalled: readonly Blocker[];
}

export async function simulate({ name, specs, site, durations, history }: Simulation): Promise<Simulated> {
  const clock = new VirtualClock();
  const lasting = new Map(specs.map(({ id }, no) => [id, durations[no] as Millis]));
  const lasts = (task: TaskSpec["id"]): Millis => lasting.get(task) as Millis;
  const engine = new Engine({
    store: forgetfulStore(history),
    epoch: 1,
    clock,
    secrets: { token: () => "", seed: () => 0, suffix: () => "" },
    executor: simulatedExecutor(clock, ({ task }) => lasts(task)),
    logOf: () => "/log",
    options: optionsOf(site),
  });
  await engine.open();
  const schedule = follow(engine);
  await clock.passUntil(bringSessions(site.pools, { engine, clock, lasts, staysFor: FOR_EVER }));
  await clock.passUntil(
    engine.submit(manifestOf(name, site), specs.map(forAnySession)).then((submitted) => engine.idle(submitted)),
  );
  await engine.close();
  const run = engine.world.findRun(RUN) as Run;
  const makespan = millis(schedule.reduce((last, { end }) => Math.max(last, end), 0));
  return { run, makespan, schedule, stalled: blockers(engine.pools, run, clock.now()) };
}

/** No worker dies on virtual time, so no worker has to give signs of life: a heartbeat would only wake the engine up. */
const FOR_EVER = millis(NEVER);
const RUN: RunId = runId("simulation");

function optionsOf({ nodes, workers, capacity, priorities, patience, pressure }: SiteSpec): EngineOptions {
  const node = (at: number): NodeSpec => {
    const name = nodes === 1 ? "local" : `node${at + 1}`;
    return { name, workers: workersOf(name, workers), capacity, capabilities: [] };
  };
  const others = Array.from({ length: nodes - 1 }, (_, at) => node(at + 1));
  return {
    ...node(0),
    others,
    priorities,
    ...(patience !== undefined && { patience }),
    ...(pressure !== undefined && { pressure }),
    leaseTtl: FOR_EVER,
    heartbeat: FOR_EVER,
  };
}

const workersOf = (node: string, count: number): readonly WorkerId[] =>
  Array.from({ length: count }, (_, at) => workerId(`${node}/${at + 1}`));

/** Every worker there is: those of the machines, then the sessions of the pools. */
export function workersAt({
  nodes,
  workers,
  pools,
}: Pick<SiteSpec, "nodes" | "workers" | "pools">): readonly WorkerId[] {
  const local =
    nodes === 1
      ? workersOf("local", workers)
      : Array.from({ length: nodes }, (_, at) => workersOf(`node${at + 1}`, workers)).flat();
  return [...local, ...sessionsOf(pools).map(([session]) => session)];
}

/** Collects which worker does what when, from the events that the engine commits. Filled as time goes on. */
function follow(engine: Engine): readonly Placement[] {
  const placed: (Placement & { end: Instant })[] = [];
  const open = new Map<number, (typeof placed)[number]>();
  engine.listen((events) => {
    for (const event of events) {
      if (event.kind === "claimed") {
        const { spec } = taskOf(engine.world.run(event.run) as Run, event.task);
        const { worker, at } = event;
        const placement = { no: event.task, task: spec.id, worker, start: at, end: at };
        placed.push(placement);
        open.set(event.task, placement);
      } else if (event.kind === "succeeded") {
        (open.get(event.task) as (typeof placed)[number]).end = event.at;
        open.delete(event.task);
      }
    }
  });
  return placed;
}

const manifestOf = (name: string, { resources, rates }: SiteSpec): RunManifest => ({
  id: RUN,
  name,
  submittedAt: instant(0),
  directory: "/",
  file: "",
  digest: "",
  seed: 0,
  resources,
  rates,
  carried: [],
});

/**
 * No person is waited for on virtual time, and each session of a pool can do all its tasks. Time-outs of local tasks count from the start,
 * and no start is reported, so they never fire; those of a pool count from the claim, and are lifted.
 */
function forAnySession(spec: TaskSpec): TaskSpec {
  if (spec.gate === undefined && spec.pool === undefined) return spec;
  const { gate: _, ...rest } = spec;
  if (spec.pool === undefined) return rest;
  const { workspace: _w, channel: _c, session: _s, verify: _v, ...free } = rest;
  return { ...free, requires: SPEC_DEFAULTS.requires, timeout: { hard: FOR_EVER } };
}

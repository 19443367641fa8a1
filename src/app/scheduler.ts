/** Puts the parts together: a store that this process owns, an executor, and the engine between them. The only place that names adapters. */
import { PRESSURE_PRESETS } from "../decide/queue/pressure.ts";
import { UserError } from "../domain/errors.ts";
import { workerId } from "../domain/ids.ts";
import { type Clock, systemClock } from "../effects/clock.ts";
import { hearFaults } from "../effects/faults.ts";
import { ownIdentity } from "../effects/host.ts";
import { hostName, machineCapacity } from "../effects/machine.ts";
import { type Secrets, systemSecrets } from "../effects/random.ts";
import { Engine } from "../engine/engine.ts";
import type { EngineOptions } from "../engine/options.ts";
import type { Executor } from "../execute/executor.ts";
import { openStore } from "../store/open.ts";
import type { Owner, Store } from "../store/store.ts";
import { answerBell } from "./agents/bell.ts";
import type { Config } from "./config/settings.ts";
import type { StateDir } from "./config/state.ts";
import { SERVE } from "./requests/owner.ts";
import { RunNames } from "./runs/run-names.ts";
import { refuseDisagreement } from "./runs/take-over.ts";
import { keepTerm } from "./term.ts";

export interface SchedulerOptions {
  readonly state: StateDir;
  readonly config: Config;
  /** Becomes the scheduler's own, and is closed with it. */
  readonly executor: Executor;
  /** The command in the owner row: other processes give it as the reason why the state directory is in use. */
  readonly command: string;
  /** The scheduler stays for many runs: ended runs are dropped from memory. */
  readonly stays?: boolean;
  /** What its workers can do beyond the common capabilities. */
  readonly capabilities?: readonly string[];
  /** Nothing is kept: the store ends with the scheduler, and the state directory is only for its attempts. */
  readonly inMemory?: boolean;
  /** The process belongs to another program, which handles its own uncaught errors. */
  readonly isGuest?: boolean;
}

/** A scheduler that owns its state directory for as long as it lives. */
export interface Scheduler extends AsyncDisposable {
  readonly engine: Engine;
  readonly store: Store;
  readonly executor: Executor;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly names: RunNames;
  /** The pools that the settings name. */
  readonly pools: readonly string[];
  /** What its workers can do beyond the common capabilities. */
  readonly capabilities: readonly string[];
}

export async function openScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const { state, config, executor, stays = false, capabilities = [], inMemory = false, isGuest = false } = options;
  const { workers, durability } = config;
  const clock = systemClock();
  const secrets = systemSecrets();
  const capacity = machineCapacity();
  await using undo = new AsyncDisposableStack();
  undo.use(executor);
  const store = undo.use(openStore({ database: inMemory ? undefined : state.database, durability }));
  const owner: Owner = {
    process: ownIdentity(),
    host: hostName(),
    command: options.command,
    since: clock.now(),
    workers,
    capacity,
    ...(capabilities.length > 0 && { capabilities }),
    ...pressureOf(config),
  };
  const before = await store.owner();
  const acquired = await store.acquire(owner);
  if (!acquired.ok) throw busy(state, acquired.error);
  // The owner before did not give the store back: it died in the middle of something. The store keeps that mark until it is checked.
  if (before !== undefined) await refuseDisagreement(store, state.root);
  const term = acquired.value;
  const engine = new Engine({
    store,
    epoch: term.epoch,
    clock,
    secrets,
    executor,
    logOf: ({ manifest }, { spec, attempt }) => state.log(manifest.id, spec.id, attempt),
    options: {
      ...engineOptions(config),
      workers: localWorkers(workers),
      capacity,
      capabilities,
      forgets: stays,
      tellsWorkers: true,
    },
  });
  await engine.open();
  const bell = inMemory
    ? undefined
    : answerBell({
        state,
        clock,
        poll: config.pollInterval,
        rung: () => void engine.takeRequests().catch(() => {}),
        gone: (error) => engine.fail(error),
      });
  // Running attempts are stopped in order, and not left behind.
  const faults = isGuest
    ? undefined
    : hearFaults((error) => {
        engine.fail(error);
        return true;
      });
  // Another scheduler has the store, or may have it soon: nothing more is begun here, and the next write is refused.
  const tenure = keepTerm({ store, term, clock, lost: () => engine.pause() });
  // From here on the scheduler closes them.
  undo.move();
  return {
    engine,
    store,
    executor,
    clock,
    secrets,
    names: new RunNames({ secrets, store }),
    pools: Object.keys(config.pools),
    capabilities,
    async [Symbol.asyncDispose]() {
      using _ = faults;
      bell?.[Symbol.dispose]();
      tenure[Symbol.dispose]();
      await engine.close();
      await executor[Symbol.asyncDispose]();
      await store.release(term);
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Begins nothing more, and leaves running attempts to the next scheduler of the state directory. Gives how many there are. */
export async function leaveRunning({ engine, executor }: Pick<Scheduler, "engine" | "executor">): Promise<number> {
  engine.pause();
  await engine.close();
  // Where every attempt has ended and is saved, the executor ends as usual.
  if (engine.live > 0) executor.leave?.();
  return engine.live;
}

const localWorkers = (count: number) => Array.from({ length: count }, (_, index) => workerId(`local/${index + 1}`));

/** The settings of the engine. */
export function engineOptions(config: Config): Omit<EngineOptions, "workers" | "capacity" | "capabilities"> {
  const { grace, leaseTtl, heartbeat, priorities, policy, patienceDispatches, patienceWait, pressure } = config;
  return {
    grace,
    leaseTtl,
    heartbeat,
    stuckAfter: config.stuckAfter,
    priorities,
    policy,
    ack: config.ackTimeout,
    modes: Object.fromEntries(Object.entries(config.pools).map(([name, { mode }]) => [name, mode])),
    patience: { dispatches: patienceDispatches, wait: patienceWait },
    ...pressureOf({ pressure }),
  };
}

const pressureOf = ({ pressure }: Pick<Config, "pressure">) =>
  pressure === "off" ? {} : { pressure: PRESSURE_PRESETS[pressure] };

const busy = (state: StateDir, owner: Owner): UserError =>
  new UserError(
    "STATE_BUSY",
    `${state.root} is in use by ${owner.command} (pid ${owner.process.pid} on ${owner.host}, since ${since(owner)})`,
    owner.command === SERVE ? { hint: "Give it the plan with `rota submit PLAN`." } : {},
  );

const since = (owner: Owner): string => new Date(owner.since).toISOString();

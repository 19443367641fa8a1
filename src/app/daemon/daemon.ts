/**
 * A scheduler for many runs: it owns a state directory, continues every run that has not ended, pushes to local workers, lets sessions
 * claim, and answers callers. `rota run` is one too, for a single plan.
 */
import { spawn } from "node:child_process";

import { hours, later, millis } from "../../domain/time.ts";
import { type CycleResult as EngineCycleResult, isCause, type Pending } from "../../engine/wake/wake-port.ts";
import type { WakeScheduler } from "../../engine/wake/wake-scheduler.ts";
import { KEYS_KEPT } from "../../store/store.ts";
import type { CycleResult } from "../../wire/answers.ts";
import { socketPath } from "../../wire/place.ts";
import type { Service } from "../../wire/service.ts";
import type { Config } from "../config/settings.ts";
import { openScheduler, type Scheduler, type SchedulerOptions } from "../scheduler.ts";
import { controlOf } from "./control.ts";
import { lookOf } from "./read.ts";
import { isoOf } from "./reply.ts";
import { pluggedInto, type WakeParts, wakeManyOf } from "./wake-parts.ts";
import { type Call, Wakes } from "./wakes.ts";
import { workOf } from "./work.ts";

export interface Daemon extends AsyncDisposable {
  readonly service: Service;
  readonly scheduler: Scheduler;
  readonly cycle: WakeScheduler;
  /** Answers no more calls; the scheduler goes on. */
  close(): Promise<void>;
}

export interface DaemonOptions extends SchedulerOptions {
  /** What commands that wake or start sessions see of the environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Runs the commands that wake or start sessions, when they are not to be started as processes. */
  readonly call?: Call;
  /** The version of this program, for callers that ask. */
  readonly version: string;
  /** The path of the socket, for callers that ask. */
  readonly socket?: string;
  /** Parts of the wake scheduler in place of its own. */
  readonly parts?: WakeParts;
  /** The wake scheduler is not started: it does only what it is told to do. */
  readonly isManual?: boolean;
}

/** Takes up everything that the last scheduler left. Live attempts are taken over. */
export async function openDaemon(options: DaemonOptions): Promise<Daemon> {
  const scheduler = await openScheduler({ ...options, stays: true });
  await takeUp(scheduler);
  return daemonOf(scheduler, options);
}

/** The same service around an existing scheduler. */
export function daemonOf(scheduler: Scheduler, options: Omit<DaemonOptions, "executor">): Daemon {
  const { state, config, version, parts: plugged = {}, isManual = false } = options;
  const { waker } = plugged;
  const { engine, clock } = scheduler;
  const socket = options.socket ?? socketPath(state.root);
  const call = options.call ?? callWith({ ...options.environment, ROTA_STATE: state.root, ROTA_SOCKET: socket });
  const wakes = new Wakes({
    clock,
    call,
    hookOf: (pool) => config.pools[pool]?.wake,
    sessionOf: (id) => engine.world.sessions.get(id as never),
    wakeMany: waker && wakeManyOf(waker),
  });
  const cycle = engine.cycle({
    waker: wakes,
    spawn: (pending) => spawnFor(config, call, pending),
    reaches: (session) => wakes.reaches(session),
    options: cycleOptions(config),
    ...pluggedInto(plugged),
  });
  const nudge = (): void => cycle.nudge();
  const forgetOld = forgetting(scheduler);
  const stopListening = engine.listen((events) => {
    if (events.some(isCause) && engine.world.sessions.size > 0 && engine.pools.hasForSessions) nudge();
    for (const event of events) if (event.kind === "session_left") wakes.forget(event.session);
    forgetOld();
  });
  const parts = {
    scheduler,
    state,
    wakes,
    socket,
    version,
    nudge,
    sessionTtl: config.sessionTtl,
    wakeReason: config.wakeReason,
  };
  const service: Service = {
    ...lookOf(parts),
    ...workOf(parts),
    ...controlOf(parts),
    cycle: async () => cycleReply(await cycle.runOnce()),
    stats: () => {
      const { lastCycleAt, lastRebuildAt, ...stats } = cycle.stats();
      return {
        ...stats,
        ...(lastCycleAt !== undefined && { lastCycleAt: isoOf(lastCycleAt) }),
        ...(lastRebuildAt !== undefined && { lastRebuildAt: isoOf(lastRebuildAt) }),
      };
    },
  };
  if (!isManual) cycle.start();
  const close = async (): Promise<void> => {
    stopListening();
    await cycle.shutdown();
    wakes.close();
  };
  return {
    service,
    scheduler,
    cycle,
    close,
    async [Symbol.asyncDispose]() {
      await close();
      await scheduler[Symbol.asyncDispose]();
    },
  };
}

/** Takes up every run that has not ended, the oldest first; then stops all other attempts of earlier schedulers. */
export async function takeUp({ store, engine, executor }: Scheduler): Promise<void> {
  const unfinished = await store.runs("unfinished");
  await engine.resumeAll(unfinished.map(({ no }) => no));
  await executor.sweep();
  await engine.takeRequests();
}

/** Forgets old keys, at least an hour after the last time. What fails now is forgotten later. */
function forgetting({ store, clock }: Scheduler): () => void {
  let next = clock.now();
  return () => {
    const now = clock.now();
    if (now < next) return;
    next = later(now, hours(1));
    void store.forget(later(now, millis(0 - KEYS_KEPT))).catch(() => {});
  };
}

function cycleOptions(config: Config) {
  const { wakeInterval, wakeCooldown, wakeReason, sweepLimit, sweepReason, offerTtl, starvingAge, ladder } = config;
  const [fanOut = 2, spawns = 4, event = 6, park = 10] = ladder;
  return {
    interval: wakeInterval,
    cooldown: wakeCooldown,
    wakeReason,
    sweepLimit,
    sweepReason,
    offer: offerTtl,
    starvingAge,
    ladder: { fanOut, spawn: spawns, event, park },
  };
}

/** The pool's own command starts a worker, if it covers what the task requires. */
async function spawnFor({ pools }: Config, call: Call, { run, task, pool }: Pending): Promise<boolean> {
  const { spawn: command, covers = [] } = pools[pool] ?? {};
  if (command === undefined || !task.spec.requires.every((each) => covers.includes(each))) return false;
  await call(command, {
    ROTA_POOL: pool,
    ROTA_RUN: run.manifest.id,
    ROTA_TASK: task.spec.id,
    ROTA_REQUIRES: task.spec.requires.join(","),
  });
  return true;
}

/** How long a command that wakes or starts a session may take. */
const CALL_MS = 10_000;

const callWith =
  (environment: Readonly<Record<string, string | undefined>>): Call =>
  ([program = "", ...args], env) =>
    new Promise((resolve, reject) => {
      const child = spawn(program, args, {
        stdio: "ignore",
        timeout: CALL_MS,
        killSignal: "SIGKILL",
        env: { ...environment, ...env },
      });
      child.on("error", reject);
      child.on("exit", (code, signal) =>
        code === 0 ? resolve() : reject(new Error(`${program} ended with ${signal ?? `exit code ${code}`}`)),
      );
    });

const cycleReply = ({ at, ...rest }: EngineCycleResult): CycleResult => ({ ...rest, at: isoOf(at) });

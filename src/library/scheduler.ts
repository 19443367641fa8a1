/**
 * A scheduler within this program, for many plans and for sessions: what `rota serve` is, with functions of the program, and with parts
 * of its own in place of those that wake sessions.
 */
import { daemonOf, takeUp } from "../app/daemon/daemon.ts";
import type { WakeParts } from "../app/daemon/wake-parts.ts";
import { findRun, loadRun } from "../app/look/reader.ts";
import { userName } from "../app/requests/user.ts";
import { openScheduler as openEngine, type Scheduler } from "../app/scheduler.ts";
import { version } from "../cli/version.ts";
import { OWNER } from "../domain/authority.ts";
import { runId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import { functionCapability } from "../domain/spec.ts";
import { millis } from "../domain/time.ts";
import { serve } from "../http/server.ts";
import type { CycleResult, CycleStats } from "../wire/answers.ts";
import { type Client, connect } from "../wire/client.ts";
import { type HostOptions, openHands, openHost, resultOf } from "./host.ts";
import type { Functions, Known, PlanSource } from "./plan.ts";
import { requestOf } from "./request.ts";
import type { RunResult } from "./result.ts";

/** How a scheduler is opened within a program. */
export interface SchedulerOptions extends HostOptions, WakeParts {
  /** The functions that tasks name under `call`. */
  readonly functions?: Functions;
  /** The wake scheduler is not started: it wakes no session but in `wakes.runOnce()`. */
  readonly manual?: boolean;
}

/** What `wakes.rebuild()` found and forgot. */
export interface Rebuilt {
  readonly pending: number;
  readonly active: number;
  readonly sessions: number;
  readonly clearedWakes: number;
  /** ISO 8601. */
  readonly at: string;
}

/** The scheduler of the pools whose sessions claim by themselves: it deals with lost leases, wakes, and escalates. It claims nothing. */
export interface WakeScheduler {
  /** One whole cycle, at once. Two never run at the same time. */
  readonly runOnce: () => Promise<CycleResult>;
  /** Forgets which sessions were woken a moment ago; what must survive is in the store. */
  readonly rebuild: () => Promise<Rebuilt>;
  /** What all cycles so far add up to. */
  readonly stats: () => CycleStats;
  /** Begins to work by itself: with each interval, and whenever something happens. Harmless when it has begun. */
  readonly start: () => void;
  /** Works no more. Waits for the cycle that runs, no longer than so many milliseconds. */
  readonly shutdown: (withinMs?: number) => Promise<void>;
}

/** A scheduler that runs within this program. */
export interface EmbeddedScheduler extends AsyncDisposable {
  /** The state directory. Other programs, and the commands of `rota` with `--state`, reach the scheduler through it while it lives. */
  readonly state: string;
  /** Speaks to this scheduler as any program does that reaches it: sessions join, claim and report with it. */
  readonly client: Client;
  readonly wakes: WakeScheduler;
  /** Submits the plan. Resolves when its run has ended or cannot go on by itself. When the signal is aborted the run goes on, unwatched. */
  readonly run: <const P extends PlanSource>(
    plan: P & Known<P>,
    options?: { readonly directory?: string; readonly signal?: AbortSignal },
  ) => Promise<RunResult<P>>;
}

/** Opens a scheduler, which owns its state directory until it is disposed of, and goes on with every run there that did not end. */
export async function openScheduler(options: SchedulerOptions = {}): Promise<EmbeddedScheduler> {
  const { functions = {}, manual = false, waker, pauses, escalation } = options;
  await using undo = new AsyncDisposableStack();
  const host = undo.use(openHost(options));
  const { state, config, environment, inMemory } = host;
  const executor = openHands(host, new Map(Object.entries(functions)), () => scheduler);
  const parts: WakeParts = {
    ...(waker !== undefined && { waker }),
    ...(pauses !== undefined && { pauses }),
    ...(escalation !== undefined && { escalation }),
  };
  const of = {
    ...{ state, config, environment, executor, inMemory, parts },
    capabilities: Object.keys(functions).map(functionCapability),
    command: "a program",
    stays: true,
    isGuest: true,
    isManual: manual,
    version: version(),
  };
  const scheduler = undo.use(await openEngine(of));
  // Functions may be called from here on, so it has to be there before.
  await takeUp(scheduler);
  const daemon = daemonOf(scheduler, of);
  const { service, cycle } = daemon;
  undo.defer(() => daemon.close());
  const { clock, secrets, engine } = scheduler;
  const server = undo.use(await serve({ service, state: state.root, clock, secrets }));
  const by = userName(environment);
  const client = undo.use(connect({ socket: server.socket }, { by }));
  const kept = undo.move();
  return {
    state: state.root,
    client,
    wakes: {
      runOnce: () => service.cycle(),
      rebuild: async () => {
        const rebuilt = await cycle.rebuild();
        return { ...rebuilt, at: new Date(rebuilt.at).toISOString() };
      },
      stats: () => service.stats() as CycleStats,
      start: () => cycle.start(),
      shutdown: (withinMs) => cycle.shutdown(withinMs === undefined ? undefined : millis(withinMs)),
    },
    async run(plan, { directory = process.cwd(), signal } = {}) {
      const request = await requestOf(plan, directory);
      const { run: id } = await service.submit(request, { by, authority: OWNER });
      const run = await runOf(scheduler, id);
      const isLive = engine.world.run(run.no) === run && run.status.state !== "finished";
      if (isLive) await engine.idle(run, signal);
      return resultOf(host, scheduler, run, run.status.state === "active");
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** The live run; where it has ended already, the recorded one. */
const runOf = async (scheduler: Scheduler, id: string): Promise<Run> =>
  scheduler.engine.world.findRun(runId(id)) ?? (await loadRun(scheduler, await findRun(scheduler, id)));

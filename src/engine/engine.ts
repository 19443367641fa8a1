/** The engine for its callers: submit a run or take one up again, wait for it, pause, stop, and carry out requests. */

import type { Dispatcher } from "../decide/dispatcher.ts";
import type { Pools } from "../decide/pools.ts";
import { UserError } from "../domain/errors.ts";
import type { Event } from "../domain/event.ts";
import type { RunId, WorkerId } from "../domain/ids.ts";
import { type Run, type RunManifest, type RunNo, runNo } from "../domain/run.ts";
import type { DispatchMode } from "../domain/sessions/pool.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { isHeld } from "../domain/task.ts";
import type { Millis } from "../domain/time.ts";
import { scopeKey } from "../domain/waiting/pause.ts";
import type { World } from "../domain/world.ts";
import { EngineApi } from "./engine-api.ts";
import type { EngineDeps } from "./options.ts";
import { assemble, type Parts } from "./parts.ts";
import { WakeScheduler, type WakeSchedulerDeps } from "./wake/wake-scheduler.ts";
import { cycleTurn, type WakeView } from "./wake/wake-turn.ts";
import { refuseOverload } from "./work/admission.ts";

export class Engine {
  readonly #deps: EngineDeps;
  readonly #parts: Parts;
  #lastRun = 0;
  /** The interface for callers from outside. */
  readonly api: EngineApi;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    const { store, clock } = deps;
    this.#parts = assemble(deps);
    this.api = new EngineApi({ ...this.#parts, store, clock });
    if (deps.options.forgets === true) this.listen((events) => this.#forget(events));
  }

  get world(): World {
    return this.#parts.world;
  }

  get dispatcher(): Dispatcher {
    return this.#parts.pools.local;
  }

  /** Rejects, and never resolves: when the store can no longer be trusted, no further turn is taken. */
  get failed(): Promise<never> {
    return this.#parts.turns.failed;
  }

  /** The engine cannot go on: no further turn is taken, and every waiting caller gets the error. */
  fail(error: unknown): void {
    this.#parts.turns.fail(error);
  }

  /** The dispatchers of all pools, for questions about a task. */
  get pools(): Pools {
    return this.#parts.pools;
  }

  /** Sessions whose claim waits for its answer. */
  get claiming(): ReadonlySet<WorkerId> {
    return this.#parts.claimService.waiting();
  }

  modeOf(pool: string): DispatchMode {
    return this.#parts.modeOf(pool);
  }

  /** The scheduler of pools whose sessions claim by themselves. */
  cycle(parts: Omit<WakeSchedulerDeps, "clock" | "durably"> & Pick<WakeView, "reaches">): WakeScheduler {
    const { world, pools, registry, claimService, deadlineWatcher, modeOf, turns } = this.#parts;
    const view: WakeView = {
      world,
      pools,
      registry,
      waiting: () => claimService.waiting(),
      wakes: (pool) => modeOf(pool) !== "push",
      sweep: (turn, limit, why) => deadlineWatcher.sweep(turn, limit, why),
      reaches: parts.reaches,
    };
    const durably: WakeSchedulerDeps["durably"] = (change) => turns.durably((turn) => change(cycleTurn(turn, view)));
    return new WakeScheduler({ ...parts, clock: this.#deps.clock, durably });
  }

  /** How many attempts are alive. */
  get live(): number {
    return this.#parts.workers.size;
  }

  /** The listener gets the events of each commit when they are durable. Returns the function that removes it. */
  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#parts.turns.listen(listener);
  }

  /** Reads where the ledger stands. To be called once, before anything else. */
  async open(): Promise<void> {
    const { store, secrets, clock } = this.#deps;
    const { tokens, registry } = this.#parts;
    this.world.seq = await store.lastSeq();
    tokens.secret = await store.secret(secrets.token());
    for (const pause of await store.pauses()) this.world.pauses.set(scopeKey(pause.scope), pause);
    registry.restore(await store.sessions(), clock.now());
    this.#lastRun = (await store.runs("newest"))[0]?.no ?? 0;
  }

  /** Admits a run, whole or not at all. Resolves when the run is durable, with the answer to its key. `by`: the caller. */
  async submit(manifest: RunManifest, specs: readonly TaskSpec[], key?: string, by?: string): Promise<Run> {
    const { pools, rules, keys, turns } = this.#parts;
    const { store, options } = this.#deps;
    const { pressure } = options;
    if (pressure !== undefined) refuseOverload(pools, specs, pressure);
    const history = await store.history(manifest.name);
    await keys.recall(specs);
    const admitted = turns.durably((turn) => {
      if (this.world.findRun(manifest.id) !== undefined) throw taken(manifest.id);
      const no = runNo(++this.#lastRun);
      const called = by === undefined ? {} : { by };
      turn.pending.ofRun(no, { kind: "run_submitted", manifest, specs, ...called }, turn.now);
      if (key !== undefined) turn.pending.remember({ key, at: turn.now, answer: { run: no } });
      const run = this.world.run(no) as Run;
      pools.admit(run, history);
      rules.watch(run);
      return run;
    });
    return admitted.catch((error: unknown) => {
      keys.forget(specs);
      throw error;
    });
  }

  /** Takes up a run that another scheduler left unfinished: what still runs is taken over, what is gone is queued again. */
  async resume(no: RunNo): Promise<Run> {
    const [run] = await this.resumeAll([no]);
    return run as Run;
  }

  /** As `resume`, for several runs together: no task is given out before it is known what each run holds already. */
  resumeAll(nos: readonly RunNo[]): Promise<readonly Run[]> {
    return this.#parts.recovery.takeUp(nos);
  }

  /** Puts the held tasks of an abandoned run back in its queue. To be called when none of them runs any more. */
  shelve(no: RunNo): Promise<void> {
    return this.#parts.recovery.shelve(no);
  }

  /** Resolves when the run cannot go on by itself: it has finished, or is stalled, or everything was stopped. */
  idle(run: Run, until?: AbortSignal): Promise<Run> {
    const { runJudge, rules, turns } = this.#parts;
    const ended = runJudge.awaited(run, until);
    rules.touch(run);
    return turns.orFail(ended);
  }

  /** Carries out the requests of people since the last call. */
  takeRequests(): Promise<void> {
    return this.#parts.requests.take();
  }

  /** Starts no more tasks; running tasks go on. */
  pause(): void {
    this.#parts.rules.shut();
  }

  /** Starts no more tasks, and ends every running attempt. These go back to the queue at no cost. */
  stopAll(grace?: Millis): void {
    this.pause();
    const { workers, stopper, turns } = this.#parts;
    turns.take((turn) => {
      for (const { run, task } of workers.current()) {
        const isNew = isHeld(task.status) && task.status.stopping === undefined;
        if (isNew) stopper.stop(turn, run, task, { kind: "shutdown" }, grace);
        else stopper.repeat(turn, task, { kind: "shutdown" }, grace);
      }
    });
  }

  /** Resolves when no attempt of this process is alive any more. */
  async quiet(): Promise<void> {
    if (this.live === 0) return;
    const done = Promise.withResolvers<void>();
    const stopListening = this.listen(() => {
      if (this.live === 0) done.resolve();
    });
    await this.#parts.turns.orFail(done.promise).finally(stopListening);
  }

  /** Takes no more turns. Attempts stay alive. Resolves when the decisions of earlier turns are written. */
  close(): Promise<void> {
    this.#parts.claimService.close();
    return this.#parts.turns.close();
  }

  /** Callers that wait for the end of a run have been told by then. */
  #forget(events: readonly Event[]): void {
    for (const { kind, run } of events) if (kind === "run_finished") this.world.runs.delete(run);
  }
}

const taken = (id: RunId): UserError => new UserError("RUN_ACTIVE", `There is a run ${id} already`);

/** The engine as others use it: submit a run or take one up again, wait for it, pause, stop, and pass on what people ask for. */

import type { Dispatcher } from "../decide/dispatcher.ts";
import type { Pools } from "../decide/pools.ts";
import { PRESSURE_POLICY } from "../decide/pressure.ts";
import { UserError } from "../domain/errors.ts";
import type { Event } from "../domain/event.ts";
import type { History } from "../domain/history.ts";
import type { RunId } from "../domain/ids.ts";
import { scopeKey } from "../domain/pause.ts";
import type { DispatchMode } from "../domain/pool.ts";
import { type Run, type RunManifest, type RunNo, runNo } from "../domain/run.ts";
import { LOCAL_POOL, poolOf, type TaskSpec } from "../domain/spec.ts";
import { aheadOf, isHeld, type Task } from "../domain/task.ts";
import type { Instant, Millis } from "../domain/time.ts";
import type { World } from "../domain/world.ts";
import { restoreRun } from "../store/rows.ts";
import type { PendingRequest, WorkingStore } from "../store/store.ts";
import { Cycle, type CycleDeps } from "./cycle.ts";
import { type CycleView, cycleTurn } from "./cycle-turn.ts";
import { Floor } from "./floor.ts";
import type { FloorDeps, FloorOptions } from "./floor-setup.ts";
import { Reception } from "./reception.ts";
import { settleLoss, settleRequest, stopAttempt, type Turn } from "./settle.ts";

export interface EngineDeps extends Omit<FloorDeps, "options"> {
  readonly options: EngineOptions;
  readonly store: WorkingStore;
}
export interface EngineOptions extends FloorOptions {
  /** Whether runs that have ended are kept in memory. A daemon that lives for long does not. */
  readonly forgets?: boolean;
}

export class Engine {
  readonly #deps: EngineDeps;
  readonly #floor: Floor;
  #requests: Promise<void> = Promise.resolve();
  #lastRun = 0;
  /** Where callers from outside are received. */
  readonly reception: Reception;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    this.#floor = new Floor(deps);
    const reopen = (turn: Turn, run: Run): void => this.#reopen(turn, run);
    this.reception = new Reception({ floor: this.#floor, store: deps.store, clock: deps.clock, reopen });
    if (deps.options.forgets === true) this.#floor.listen((events) => this.#forget(events));
  }

  get world(): World {
    return this.#floor.world;
  }

  get dispatcher(): Dispatcher {
    return this.#floor.dispatcher;
  }

  /** Broken, never kept: when the store can no longer be trusted, nothing more is decided. */
  get failed(): Promise<never> {
    return this.#floor.failed;
  }

  /** Where to ask about a task of any pool. */
  get pools(): Pools {
    return this.#floor.pools;
  }

  modeOf(pool: string): DispatchMode {
    return this.#floor.modeOf(pool);
  }

  /** The scheduler of pools whose sessions claim by themselves. */
  cycle(parts: Omit<CycleDeps, "clock" | "durably"> & Pick<CycleView, "reaches">): Cycle {
    const floor = this.#floor;
    const view: CycleView = {
      world: this.world,
      pools: floor.pools,
      roll: floor.roll,
      waiting: () => floor.desk.waiting(),
      wakes: (pool) => floor.modeOf(pool) !== "push",
      sweep: (turn, limit) => floor.sweep(turn, limit),
      reaches: parts.reaches,
    };
    const durably: CycleDeps["durably"] = (change) => floor.durably((turn) => change(cycleTurn(turn, view)));
    return new Cycle({ ...parts, clock: this.#deps.clock, durably });
  }

  /** How many attempts are alive. */
  get live(): number {
    return this.#floor.attempts.size;
  }

  /** Is told the events of each commit, once they are durable. Returns the way to stop that. */
  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#floor.listen(listener);
  }

  /** Reads where the ledger stands. To be called once, before anything else. */
  async open(): Promise<void> {
    const { store, secrets, clock } = this.#deps;
    this.world.seq = await store.lastSeq();
    this.#floor.tokens.secret = await store.secret(secrets.token());
    for (const pause of await store.pauses()) this.world.pauses.set(scopeKey(pause.scope), pause);
    this.#floor.roll.restore(await store.sessions(), clock.now());
    this.#lastRun = (await store.runs("newest"))[0]?.no ?? 0;
  }

  /** Admits a run, whole or not at all. Kept once the run is durable, and with it what its key has led to. `by`: who called for it. */
  async submit(manifest: RunManifest, specs: readonly TaskSpec[], key?: string, by?: string): Promise<Run> {
    this.#refuseOverload(specs);
    const history = await this.#floor.histories.of(manifest.name);
    return this.#floor.durably((turn) => {
      if (this.world.findRun(manifest.id) !== undefined) throw taken(manifest.id);
      const no = runNo(++this.#lastRun);
      const called = by === undefined ? {} : { by };
      turn.journal.ofRun(no, { kind: "run_submitted", manifest, specs, ...called }, turn.now);
      if (key !== undefined) turn.journal.remember({ key, at: turn.now, answer: { run: no } });
      const run = this.world.run(no) as Run;
      this.#floor.pools.admit(run, history);
      this.#floor.watch(run);
      return run;
    });
  }

  /** Takes up a run that another scheduler left unfinished: what still runs is taken over, what is gone is queued again. */
  async resume(no: RunNo): Promise<Run> {
    const [run] = await this.resumeAll([no]);
    return run as Run;
  }

  /** As `resume`, for several at once: nothing is given out before it is known what each of them has out already. */
  async resumeAll(nos: readonly RunNo[]): Promise<readonly Run[]> {
    const taken: Taken[] = [];
    for (const no of nos) taken.push(await this.#takeUp(no));
    await this.#recallBreakers(taken);
    return this.#floor.durably((turn) => {
      // Not before it is known what still lives: an old lease must not run out while its holder is being asked.
      for (const { run, history } of taken) {
        if (run.status.state !== "finished") this.#reopen(turn, run);
        setBack(turn, run);
        this.#floor.pools.admit(run, history, turn.now);
        this.#floor.watch(run);
      }
      for (const { run, lost } of taken) for (const task of lost) loseAtRestart(turn, run, task);
      // Sessions keep what they hold. While nobody listened they could not say that they live, so they have a whole span to.
      this.#floor.forgive(turn);
      return taken.map(({ run }) => run);
    });
  }

  /** Puts the held tasks of a run that nobody goes on with back in its queue. To be called when nothing of them runs any more. */
  async shelve(no: RunNo): Promise<void> {
    if (this.world.run(no) !== undefined) return;
    const run = await this.#load(no);
    const held = run?.tasks.filter(isOurs) ?? [];
    if (run === undefined || held.length === 0) return;
    this.world.runs.set(no, run);
    await this.#floor.durably((turn) => {
      for (const task of held) putBack(turn, run, task);
    });
    this.world.runs.delete(no);
  }

  /** Kept when nothing of the run can go on by itself: it has finished, or is stalled, or everything was stopped. */
  idle(run: Run, until?: AbortSignal): Promise<Run> {
    return this.#floor.idle(run, until);
  }

  /** Deals with whatever people have asked for since the last time. */
  takeRequests(): Promise<void> {
    // One after the other, so that what is being dealt with is not read again.
    const taken = this.#requests.then(() => this.#takeRequests());
    this.#requests = taken.catch(() => {});
    return taken;
  }

  /** Starts nothing more; what runs goes on. */
  pause(): void {
    this.#floor.gate.shut();
  }

  /** Starts nothing more, and has everything that runs end. It goes back to the queue at no cost. */
  stopAll(grace: Millis = this.#floor.grace): void {
    this.pause();
    const { attempts } = this.#floor;
    this.#floor.take((turn) => {
      const within: Turn = { ...turn, stop: (task, reason) => this.#floor.stopLater(task, reason, grace) };
      for (const { run, task } of attempts.current()) {
        const isNew = isHeld(task.status) && task.status.stopping === undefined;
        if (isNew) stopAttempt(within, run, task, { kind: "shutdown" });
        else attempts.stop(task, task.attempt, { kind: "shutdown" }, grace);
      }
    });
  }

  /** Kept when no attempt of this process is alive any more. */
  async quiet(): Promise<void> {
    if (this.live === 0) return;
    const done = Promise.withResolvers<void>();
    const stopListening = this.listen(() => {
      if (this.live === 0) done.resolve();
    });
    await this.#floor.orFail(done.promise).finally(stopListening);
  }

  /** No more turns. What is alive stays alive. Kept when what earlier turns have decided is written. */
  close(): Promise<void> {
    return this.#floor.close();
  }

  /** Who waits for the end of a run has been told by then. */
  #forget(events: readonly Event[]): void {
    for (const { kind, run } of events) if (kind === "run_finished") this.world.runs.delete(run);
  }

  /** A shared queue that is full takes nothing more, and one that is nearly so only what matters most. */
  #refuseOverload(specs: readonly TaskSpec[]): void {
    const limits = this.#deps.options.pressure;
    if (limits === undefined) return;
    const { dispatcher, pools } = this.#floor;
    const { queued } = pools;
    const { admits } = PRESSURE_POLICY[dispatcher.mode];
    const refused = specs.find(({ priority }) => !admits.includes(priority));
    if (refused !== undefined) {
      throw new UserError(
        "QUEUE_FULL",
        `The queue is nearly full (${queued} of ${limits.depth}) and takes only critical tasks`,
      );
    }
    if (queued > 0 && queued + specs.length > limits.depth) {
      throw new UserError(
        "QUEUE_FULL",
        `${specs.length} tasks do not fit into the queue: ${queued} of ${limits.depth} wait`,
      );
    }
  }

  async #takeUp(no: RunNo): Promise<Taken> {
    const run = await this.#load(no);
    if (run === undefined) throw new UserError("RUN_UNKNOWN", `There is no run ${no}`);
    const history = await this.#floor.histories.of(run.manifest.name);
    this.world.runs.set(no, run);
    const held = run.tasks.filter(isOurs);
    const lost: Task[] = [];
    for (const task of held) if (!(await this.#adopt(run, task))) lost.push(task);
    return { run, history, lost };
  }

  /** A service that was left alone is left alone still: how it went before is read from the ledger, in the order in which it went. */
  async #recallBreakers(taken: readonly Taken[]): Promise<void> {
    const now = this.#deps.clock.now();
    const told: { readonly run: Run; readonly event: Event }[] = [];
    for (const { run } of taken) {
      if (run.tasks.every(({ spec }) => spec.provider === undefined)) continue;
      for (const event of await this.#deps.store.events({ run: run.no })) told.push({ run, event: past(event, now) });
    }
    told.sort((a, b) => a.event.seq - b.event.seq);
    for (const { run, event } of told) this.dispatcher.breakers.recall(run, [event]);
  }

  async #load(no: RunNo): Promise<Run | undefined> {
    const stored = await this.#deps.store.load(no);
    return stored && restoreRun(stored.row, stored.specs, stored.tasks);
  }

  async #adopt(run: Run, task: Task): Promise<boolean> {
    const { attempts, grace } = this.#floor;
    const process = task.status.state === "running" ? task.status.process : undefined;
    const adopted = await attempts.adopt(run, task, process);
    const { status } = task;
    if (adopted && isHeld(status) && status.stopping !== undefined)
      attempts.stop(task, task.attempt, status.stopping, grace);
    return adopted;
  }

  async #takeRequests(): Promise<void> {
    const requests = await this.#deps.store.requests();
    const mine = requests.filter(({ run }) => this.world.findRun(run) !== undefined);
    if (mine.length === 0) return;
    await this.#floor.durably((turn) => {
      for (const request of mine) this.#obey(turn, request);
    });
  }

  #obey(turn: Turn, { no, kind, run: id, task, by, why }: PendingRequest): void {
    const run = this.world.findRun(id);
    // It ended, and was forgotten, between being read and being dealt with: it came too late.
    if (run === undefined) return turn.journal.requestDone(no);
    settleRequest(turn, run, kind, task, why === undefined ? { by } : { by, why });
    if (run.status.state === "stalled") this.#reopen(turn, run);
    turn.journal.requestDone(no);
    this.#floor.touch(run);
  }

  #reopen(turn: Turn, run: Run): void {
    turn.journal.ofRun(run.no, { kind: "run_reopened", epoch: this.#deps.epoch }, turn.now);
  }
}

const taken = (id: RunId): UserError => new UserError("RUN_ACTIVE", `There is a run ${id} already`);

/** What happened happened before now, whatever a clock said that has been set back since. */
const past = (event: Event, now: Instant): Event => (event.at > now ? { ...event, at: now } : event);

/** The clock may be behind that of the scheduler before: nobody is to wait for as long, or to have as much more time. */
function setBack({ journal, now }: Turn, run: Run): void {
  for (const task of run.tasks) {
    const by = aheadOf(task, now);
    if (by > 0) journal.ofTask(run, task, { kind: "set_back", by }, now);
  }
}

/** A run of another scheduler, and what of it is gone. */
interface Taken {
  readonly run: Run;
  readonly history: History;
  readonly lost: readonly Task[];
}

/** Held by a process of this machine, which nobody but us looks after. What sessions hold is theirs. */
const isOurs = ({ status, spec }: Task): boolean => isHeld(status) && poolOf(spec) === LOCAL_POOL;

/** It was ended because something else is to run here: no fault of its own, and nothing that makes it suspicious. */
function putBack(turn: Turn, run: Run, task: Task): void {
  if (isHeld(task.status) && task.status.stopping !== undefined) return loseAtRestart(turn, run, task);
  turn.journal.ofTask(run, task, { kind: "released", why: "another run was begun in its place" }, turn.now);
}

/** Claimed but never started costs nothing; started and gone is a lost lease. */
function loseAtRestart(turn: Turn, run: Run, task: Task): void {
  const { status } = task;
  const neverStarted = status.state === "claimed" && status.stopping === undefined;
  if (neverStarted) turn.journal.ofTask(run, task, { kind: "released", why: "the scheduler was restarted" }, turn.now);
  else settleLoss(turn, run, task, true);
}

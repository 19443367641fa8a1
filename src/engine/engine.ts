/** The engine as others use it: submit a run or take one up again, wait for it, pause, stop, and pass on what people ask for. */

import type { Dispatcher } from "../decide/dispatcher.ts";
import type { Pools } from "../decide/pools.ts";
import { PRESSURE_POLICY } from "../decide/pressure.ts";
import { UserError } from "../domain/errors.ts";
import type { Event } from "../domain/event.ts";
import type { History } from "../domain/history.ts";
import type { RunId, WorkerId } from "../domain/ids.ts";
import { isLocal } from "../domain/lease.ts";
import { scopeKey } from "../domain/pause.ts";
import type { DispatchMode } from "../domain/pool.ts";
import { type Run, type RunManifest, type RunNo, runNo } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { aheadOf, isHeld, isWorking, type Task } from "../domain/task.ts";
import type { Instant, Millis } from "../domain/time.ts";
import type { World } from "../domain/world.ts";
import { restoreRun } from "../store/rows.ts";
import type { PendingRequest } from "../store/store.ts";
import { Cycle, type CycleDeps } from "./cycle.ts";
import { type CycleView, cycleTurn } from "./cycle-turn.ts";
import type { EngineDeps } from "./options.ts";
import { assemble, type Parts } from "./parts.ts";
import { Reception } from "./reception.ts";
import { obeyRequest } from "./requests.ts";
import type { Turn } from "./turn.ts";

export class Engine {
  readonly #deps: EngineDeps;
  readonly #parts: Parts;
  #requests: Promise<void> = Promise.resolve();
  #lastRun = 0;
  /** Where callers from outside are received. */
  readonly reception: Reception;

  constructor(deps: EngineDeps) {
    this.#deps = deps;
    const { store, clock } = deps;
    this.#parts = assemble(deps);
    const reopen = (turn: Turn, run: Run): void => this.#reopen(turn, run);
    this.reception = new Reception({ ...this.#parts, store, clock, reopen });
    if (deps.options.forgets === true) this.listen((events) => this.#forget(events));
  }

  get world(): World {
    return this.#parts.world;
  }

  get dispatcher(): Dispatcher {
    return this.#parts.pools.local;
  }

  /** Broken, never kept: when the store can no longer be trusted, nothing more is decided. */
  get failed(): Promise<never> {
    return this.#parts.turns.failed;
  }

  /** Where to ask about a task of any pool. */
  get pools(): Pools {
    return this.#parts.pools;
  }

  /** Sessions whose claim waits to be answered. */
  get claiming(): ReadonlySet<WorkerId> {
    return this.#parts.desk.waiting();
  }

  modeOf(pool: string): DispatchMode {
    return this.#parts.modeOf(pool);
  }

  /** The scheduler of pools whose sessions claim by themselves. */
  cycle(parts: Omit<CycleDeps, "clock" | "durably"> & Pick<CycleView, "reaches">): Cycle {
    const { world, pools, roll, desk, lookout, modeOf, turns } = this.#parts;
    const view: CycleView = {
      world,
      pools,
      roll,
      waiting: () => desk.waiting(),
      wakes: (pool) => modeOf(pool) !== "push",
      sweep: (turn, limit) => lookout.sweep(turn, limit),
      reaches: parts.reaches,
    };
    const durably: CycleDeps["durably"] = (change) => turns.durably((turn) => change(cycleTurn(turn, view)));
    return new Cycle({ ...parts, clock: this.#deps.clock, durably });
  }

  /** How many attempts are alive. */
  get live(): number {
    return this.#parts.workers.size;
  }

  /** Is told the events of each commit, once they are durable. Returns the way to stop that. */
  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#parts.turns.listen(listener);
  }

  /** Reads where the ledger stands. To be called once, before anything else. */
  async open(): Promise<void> {
    const { store, secrets, clock } = this.#deps;
    const { tokens, roll } = this.#parts;
    this.world.seq = await store.lastSeq();
    tokens.secret = await store.secret(secrets.token());
    for (const pause of await store.pauses()) this.world.pauses.set(scopeKey(pause.scope), pause);
    roll.restore(await store.sessions(), clock.now());
    this.#lastRun = (await store.runs("newest"))[0]?.no ?? 0;
  }

  /** Admits a run, whole or not at all. Kept once the run is durable, and with it what its key has led to. `by`: who called for it. */
  async submit(manifest: RunManifest, specs: readonly TaskSpec[], key?: string, by?: string): Promise<Run> {
    this.#refuseOverload(specs);
    const { histories, pools, rules, keys, turns } = this.#parts;
    const history = await histories.of(manifest.name);
    await keys.recall(specs);
    const admitted = turns.durably((turn) => {
      if (this.world.findRun(manifest.id) !== undefined) throw taken(manifest.id);
      const no = runNo(++this.#lastRun);
      const called = by === undefined ? {} : { by };
      turn.journal.ofRun(no, { kind: "run_submitted", manifest, specs, ...called }, turn.now);
      if (key !== undefined) turn.journal.remember({ key, at: turn.now, answer: { run: no } });
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

  /** As `resume`, for several at once: nothing is given out before it is known what each of them has out already. */
  async resumeAll(nos: readonly RunNo[]): Promise<readonly Run[]> {
    const taken: Taken[] = [];
    for (const no of nos) taken.push(await this.#takeUp(no));
    await this.#recallBreakers(taken);
    const { pools, rules, lookout, keys, turns } = this.#parts;
    return turns.durably((turn) => {
      // Not before it is known what still lives: an old lease must not run out while its holder is being asked.
      for (const { run, history } of taken) {
        if (run.status.state !== "finished") this.#reopen(turn, run);
        setBack(turn, run);
        pools.admit(run, history, turn.now);
        keys.admit(run);
        rules.watch(run);
      }
      for (const { run, lost } of taken) for (const task of lost) this.#loseAtRestart(turn, run, task);
      // Sessions keep what they hold. While nobody listened they could not say that they live, so they have a whole span to.
      lookout.forgive(turn);
      return taken.map(({ run }) => run);
    });
  }

  /** Puts the held tasks of a run that nobody goes on with back in its queue. To be called when nothing of them runs any more. */
  async shelve(no: RunNo): Promise<void> {
    if (this.world.run(no) !== undefined) return;
    const run = await this.#load(no);
    const held = run?.tasks.filter((task) => isOurs(task) && isWorking(task.status)) ?? [];
    if (run === undefined || held.length === 0) return;
    this.world.runs.set(no, run);
    await this.#parts.turns.durably((turn) => {
      for (const task of held) this.#putBack(turn, run, task);
    });
    this.world.runs.delete(no);
  }

  /** Kept when nothing of the run can go on by itself: it has finished, or is stalled, or everything was stopped. */
  idle(run: Run, until?: AbortSignal): Promise<Run> {
    const { verdicts, rules, turns } = this.#parts;
    const ended = verdicts.awaited(run, until);
    rules.touch(run);
    return turns.orFail(ended);
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
    this.#parts.rules.shut();
  }

  /** Starts nothing more, and has everything that runs end. It goes back to the queue at no cost. */
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

  /** Kept when no attempt of this process is alive any more. */
  async quiet(): Promise<void> {
    if (this.live === 0) return;
    const done = Promise.withResolvers<void>();
    const stopListening = this.listen(() => {
      if (this.live === 0) done.resolve();
    });
    await this.#parts.turns.orFail(done.promise).finally(stopListening);
  }

  /** No more turns. What is alive stays alive. Kept when what earlier turns have decided is written. */
  close(): Promise<void> {
    this.#parts.desk.close();
    return this.#parts.turns.close();
  }

  /** Who waits for the end of a run has been told by then. */
  #forget(events: readonly Event[]): void {
    for (const { kind, run } of events) if (kind === "run_finished") this.world.runs.delete(run);
  }

  /** A shared queue that is full takes nothing more, and one that is nearly so only what matters most. */
  #refuseOverload(specs: readonly TaskSpec[]): void {
    const limits = this.#deps.options.pressure;
    if (limits === undefined) return;
    const { queued, local } = this.#parts.pools;
    const { admits } = PRESSURE_POLICY[local.mode];
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
    const history = await this.#parts.histories.of(run.manifest.name);
    await this.#parts.keys.recall(run.tasks.map(({ spec }) => spec));
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
    const { workers, stopper, turns } = this.#parts;
    const process = "process" in task.status ? task.status.process : undefined;
    const adopted = await workers.adopt(run, task, process);
    const { status } = task;
    const stopping = isHeld(status) ? status.stopping : undefined;
    if (adopted && stopping !== undefined) turns.take((turn) => stopper.repeat(turn, task, stopping));
    return adopted;
  }

  async #takeRequests(): Promise<void> {
    const requests = await this.#deps.store.requests();
    const mine = requests.filter(({ run }) => this.world.findRun(run) !== undefined);
    if (mine.length === 0) return;
    await this.#parts.turns.durably((turn) => {
      for (const request of mine) this.#obey(turn, request);
    });
  }

  #obey(turn: Turn, { no, kind, run: id, task, by, why }: PendingRequest): void {
    const run = this.world.findRun(id);
    // It ended, and was forgotten, between being read and being dealt with: it came too late.
    if (run === undefined) return turn.journal.requestDone(no);
    const asked = why === undefined ? { by } : { by, why };
    obeyRequest(turn, this.#parts.stopper, run, { kind, task, asked });
    if (run.status.state === "stalled") this.#reopen(turn, run);
    turn.journal.requestDone(no);
    this.#parts.rules.touch(run);
  }

  /** It was ended because something else is to run here: no fault of its own, and nothing that makes it suspicious. */
  #putBack(turn: Turn, run: Run, task: Task): void {
    if (isHeld(task.status) && task.status.stopping !== undefined) return this.#loseAtRestart(turn, run, task);
    this.#parts.leases.release(turn, run, task, "another run was begun in its place");
  }

  /** Claimed but never started costs nothing; started and gone is a lost lease. */
  #loseAtRestart(turn: Turn, run: Run, task: Task): void {
    const { leases, verifier } = this.#parts;
    const { status } = task;
    if (status.state === "verifying") return verifier.lost(turn, run, task, status);
    const neverStarted = status.state === "claimed" && status.stopping === undefined;
    if (neverStarted) leases.release(turn, run, task, "the scheduler was restarted");
    else leases.lose(turn, run, task, turn.now);
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

/** Held by a worker inside the scheduler before this one, which this one has to look after. What sessions hold is theirs. */
const isOurs = ({ status }: Task): boolean => isHeld(status) && isLocal(status.lease);

/**
 * The engine: takes what came in, decides, commits, and only then acts. Nothing runs and nobody is told before the store has it.
 * One turn handles everything that has come in since the last one, in one transaction.
 */
import { Deadlines } from "../decide/deadlines.ts";
import { Dispatcher, type DispatcherOptions } from "../decide/dispatcher.ts";
import { judgeRun } from "../decide/finish.ts";
import { nextDeadline, overdue } from "../decide/timeouts.ts";
import { UserError } from "../domain/errors.ts";
import type { Event } from "../domain/event.ts";
import { HEARTBEAT_INTERVAL, LEASE_TTL } from "../domain/lease.ts";
import { type Run, type RunManifest, type RunNo, runNo } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import { isHeld, type StopReason, type Task } from "../domain/task.ts";
import { type Instant, later, type Millis, millis, seconds } from "../domain/time.ts";
import { type Change, World } from "../domain/world.ts";
import type { Clock, Timer } from "../effects/clock.ts";
import { hashToken, type Secrets } from "../effects/random.ts";
import type { Attempt, Executor } from "../execute/executor.ts";
import { restoreRun } from "../store/rows.ts";
import type { Epoch, PendingRequest, Store } from "../store/store.ts";
import { Attempts } from "./attempts.ts";
import { Journal } from "./journal.ts";
import { settleDependents, settleLoss, settleReport, settleRequest, stopAttempt, type Turn } from "./settle.ts";

export interface EngineDeps {
  readonly store: Pick<Store, "commit" | "load" | "runs" | "lastSeq" | "requests">;
  readonly epoch: Epoch;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly executor: Executor;
  /** Everything needed to make the task's current attempt. */
  readonly attemptOf: (run: Run, task: Task) => Attempt;
  readonly options: EngineOptions;
}

export interface EngineOptions extends DispatcherOptions {
  /** How long a stopped attempt has between being asked to end and being killed. */
  readonly grace?: Millis;
  readonly leaseTtl?: Millis;
  readonly heartbeat?: Millis;
}

/** How long what is not urgent may wait for the next commit. */
const LAZY_MAX = millis(20);
export const GRACE = seconds(5);

type Input = (turn: Turn) => void;

export class Engine {
  readonly world = new World();
  readonly dispatcher: Dispatcher;
  readonly #deps: EngineDeps;
  readonly #journal: Journal;
  readonly #deadlines: Deadlines;
  readonly #attempts: Attempts;
  readonly #grace: Millis;
  readonly #ttl: Millis;
  readonly #heartbeat: Millis;
  #inbox: Input[] = [];
  #requests: Promise<void> = Promise.resolve();
  #ended: { readonly run: Run; readonly task: Task }[] = [];
  readonly #touched = new Set<Run>();
  #afterCommit: (() => void)[] = [];
  readonly #listeners = new Set<(events: readonly Event[]) => void>();
  readonly #idleWaiters = new Map<Run, ((run: Run) => void)[]>();
  #dispatching = true;
  #keepAt: Instant | undefined;
  #lazySince: Instant | undefined;
  #timer: Timer | undefined;
  #timerAt: Instant | undefined;
  #scheduled = false;
  #turning = false;
  #closed = false;
  readonly #failure = Promise.withResolvers<never>();

  constructor(deps: EngineDeps) {
    const { options, clock } = deps;
    this.#deps = deps;
    this.#grace = options.grace ?? GRACE;
    this.#ttl = options.leaseTtl ?? LEASE_TTL;
    this.#heartbeat = options.heartbeat ?? HEARTBEAT_INTERVAL;
    this.dispatcher = new Dispatcher(options);
    this.#journal = new Journal(this.world, (change) => this.#observe(change));
    this.#deadlines = new Deadlines((_, task) => nextDeadline(task, this.#attempts.signs(task)));
    this.#attempts = new Attempts({
      executor: deps.executor,
      now: () => clock.now(),
      attemptOf: deps.attemptOf,
      report: (run, task, fence, report) => this.#take((turn) => settleReport(turn, run, task, fence, report)),
    });
    // Whoever waits for a run hears of it; nobody has to.
    this.#failure.promise.catch(() => {});
  }

  /** Broken, never kept: when the store can no longer be trusted, nothing more is decided. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** How many attempts are alive. */
  get live(): number {
    return this.#attempts.size;
  }

  /** Is told the events of each commit, once they are durable. Returns the way to stop that. */
  listen(listener: (events: readonly Event[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Reads where the ledger stands. To be called once, before anything else. */
  async open(): Promise<void> {
    this.world.seq = await this.#deps.store.lastSeq();
  }

  /** Admits a run, whole. Kept once the run is durable. */
  async submit(manifest: RunManifest, specs: readonly TaskSpec[]): Promise<Run> {
    const stored = await this.#deps.store.runs();
    return this.#durably((turn) => {
      const known = [...this.world.runs.keys(), ...stored.map(({ no }) => no)];
      const no = runNo(known.reduce((most, each) => Math.max(most, each), 0) + 1);
      turn.journal.ofRun(no, { kind: "run_submitted", manifest, specs }, turn.now);
      return this.#admit(no);
    });
  }

  /** Takes up a run that another scheduler left unfinished: what still runs is taken over, what is gone is queued again. */
  async resume(no: RunNo): Promise<Run> {
    const stored = await this.#deps.store.load(no);
    if (stored === undefined) throw new UserError("RUN_UNKNOWN", `There is no run ${no}`);
    const run = restoreRun(stored.row, stored.specs, stored.tasks);
    this.world.runs.set(no, run);
    const held = run.tasks.filter((task) => isHeld(task.status));
    const lost: Task[] = [];
    for (const task of held) if (!(await this.#adopt(run, task))) lost.push(task);
    return this.#durably((turn) => {
      // Not before it is known what still lives: an old lease must not run out while its holder is being asked.
      this.#admit(no);
      this.#keepAt = undefined;
      if (run.status.state !== "finished") {
        turn.journal.ofRun(no, { kind: "run_reopened", epoch: this.#deps.epoch }, turn.now);
      }
      for (const task of lost) this.#loseAtRestart(turn, run, task);
      return run;
    });
  }

  /** Puts the held tasks of a run that nobody goes on with back in its queue. To be called when nothing of them runs any more. */
  async shelve(no: RunNo): Promise<void> {
    const stored = await this.#deps.store.load(no);
    if (stored === undefined || this.world.run(no) !== undefined) return;
    const run = restoreRun(stored.row, stored.specs, stored.tasks);
    const held = run.tasks.filter((task) => isHeld(task.status));
    if (held.length === 0) return;
    this.world.runs.set(no, run);
    await this.#durably((turn) => {
      for (const task of held) this.#loseAtRestart(turn, run, task);
    });
    this.world.runs.delete(no);
  }

  /** Kept when nothing of the run can go on by itself: it has finished, or is stalled, or everything was stopped. */
  idle(run: Run): Promise<Run> {
    const ended = new Promise<Run>((resolve) => {
      const waiters = this.#idleWaiters.get(run) ?? [];
      waiters.push(resolve);
      this.#idleWaiters.set(run, waiters);
    });
    this.#touched.add(run);
    this.#schedule();
    return Promise.race([ended, this.failed]);
  }

  /** Deals with whatever people have asked for since the last time. */
  takeRequests(): Promise<void> {
    // One after the other, so that what is being dealt with is not read again.
    const taken = this.#requests.then(() => this.#takeRequests());
    this.#requests = taken.catch(() => {});
    return taken;
  }

  async #takeRequests(): Promise<void> {
    const requests = await this.#deps.store.requests();
    const mine = requests.filter(({ run }) => this.world.findRun(run) !== undefined);
    if (mine.length > 0) await this.#durably((turn) => mine.forEach((request) => this.#obey(turn, request)));
  }

  /** Starts nothing more; what runs goes on. */
  pause(): void {
    this.#dispatching = false;
    this.#touchAll();
  }

  /** Starts nothing more, and has everything that runs end. It goes back to the queue at no cost. */
  stopAll(grace: Millis = this.#grace): void {
    this.pause();
    this.#take((turn) => {
      const within: Turn = { ...turn, stop: (task, reason) => this.#stopLater(task, reason, grace) };
      for (const { run, task } of this.#attempts.current()) {
        if (isHeld(task.status) && task.status.stopping === undefined)
          stopAttempt(within, run, task, { kind: "shutdown" });
        else this.#attempts.stop(task, { kind: "shutdown" }, grace);
      }
    });
  }

  /** No more turns. What is alive stays alive. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
  }

  #admit(no: RunNo): Run {
    const run = this.world.run(no) as Run;
    this.dispatcher.admit(run);
    for (const task of run.tasks) if (isHeld(task.status)) this.#deadlines.watch(run, task);
    this.#touched.add(run);
    return run;
  }

  async #adopt(run: Run, task: Task): Promise<boolean> {
    const process = task.status.state === "running" ? task.status.process : undefined;
    const adopted = await this.#attempts.adopt(run, task, process);
    const { status } = task;
    if (adopted && isHeld(status) && status.stopping !== undefined)
      this.#attempts.stop(task, status.stopping, this.#grace);
    return adopted;
  }

  /** Claimed but never started costs nothing; started and gone is a lost lease. */
  #loseAtRestart(turn: Turn, run: Run, task: Task): void {
    const { status } = task;
    const neverStarted = status.state === "claimed" && status.stopping === undefined;
    if (neverStarted)
      turn.journal.ofTask(run, task, { kind: "released", why: "the scheduler was restarted" }, turn.now);
    else settleLoss(turn, run, task, true);
  }

  #obey(turn: Turn, { no, kind, run: id, task, by, why }: PendingRequest): void {
    const run = this.world.findRun(id) as Run;
    settleRequest(turn, run, kind, task, why === undefined ? { by } : { by, why });
    if (run.status.state === "stalled")
      turn.journal.ofRun(run.no, { kind: "run_reopened", epoch: this.#deps.epoch }, turn.now);
    turn.journal.requestDone(no);
    this.#touched.add(run);
  }

  /** Runs `change` in the next turn; kept once what it did is durable. */
  #durably<T>(change: (turn: Turn) => T): Promise<T> {
    const done = new Promise<T>((resolve) => {
      this.#take((turn) => {
        const result = change(turn);
        this.#afterCommit.push(() => resolve(result));
      });
    });
    return Promise.race([done, this.failed]);
  }

  #take(input: Input): void {
    this.#inbox.push(input);
    this.#schedule();
  }

  #observe(change: Change): void {
    this.dispatcher.observe(change);
    this.#deadlines.observe(change);
    const { run, task, to } = change;
    this.#touched.add(run);
    if (to.state === "failed" || to.state === "skipped" || to.state === "cancelled") this.#ended.push({ run, task });
  }

  #schedule(): void {
    if (this.#scheduled || this.#turning || this.#closed) return;
    this.#scheduled = true;
    this.#deps.clock.soon(() => {
      this.#scheduled = false;
      void this.#turn();
    });
  }

  async #turn(): Promise<void> {
    if (this.#turning || this.#closed) return;
    this.#turning = true;
    try {
      const now = this.#deps.clock.now();
      this.#decide({ now, journal: this.#journal, stop: (task, reason) => this.#stopLater(task, reason) });
      if (this.#mustCommit(now)) await this.#commit();
    } catch (error) {
      this.close();
      this.#failure.reject(error);
      return;
    } finally {
      this.#turning = false;
    }
    if (this.#inbox.length > 0 || this.#touched.size > 0) this.#schedule();
    else this.#sleep();
  }

  /** Everything this turn has to rule on, in a fixed order: the same inputs give the same events. */
  #decide(turn: Turn): void {
    const inbox = this.#inbox;
    this.#inbox = [];
    for (const input of inbox) input(turn);
    this.#keep(turn);
    this.#deadlines.due(turn.now, (run, task) => this.#look(turn, run, task));
    this.#settleEnds(turn);
    if (this.#dispatching) this.#dispatch(turn);
    for (const run of this.#touched) this.#judge(turn, run);
    this.#touched.clear();
  }

  /** Renews the leases of what is alive here. */
  #keep(turn: Turn): void {
    if (this.#keepAt !== undefined && turn.now < this.#keepAt) return;
    this.#keepAt = this.#attempts.size === 0 ? undefined : later(turn.now, this.#heartbeat);
    for (const { run, task } of this.#attempts.current()) {
      if (!isHeld(task.status)) continue;
      const deadline = later(turn.now, this.#ttl);
      if (deadline <= task.status.lease.deadline) continue;
      this.#journal.ofTask(run, task, { kind: "lease_renewed", deadline }, turn.now);
      this.#deadlines.watch(run, task);
    }
  }

  #look(turn: Turn, run: Run, task: Task): void {
    const found = overdue(task, this.#attempts.signs(task), turn.now);
    switch (found?.kind) {
      case "expired":
        return settleLoss(turn, run, task, false);
      case "stop":
        return stopAttempt(turn, run, task, found.reason);
      case "silent":
        this.#attempts.silenceReported(task);
        return this.#journal.ofTask(run, task, { kind: "silent", forMs: found.for }, turn.now);
      case undefined:
        return;
    }
  }

  #settleEnds(turn: Turn): void {
    for (let ended = this.#ended.pop(); ended !== undefined; ended = this.#ended.pop()) {
      settleDependents(turn, ended.run, ended.task);
    }
  }

  #dispatch(turn: Turn): void {
    for (let next = this.dispatcher.next(turn.now); next !== undefined; next = this.dispatcher.next(turn.now)) {
      const { run, task, worker, evidence } = next;
      const deadline = later(turn.now, this.#ttl);
      const tokenHash = hashToken(this.#deps.secrets.token());
      this.#journal.ofTask(run, task, { kind: "claimed", worker, deadline, evidence, tokenHash }, turn.now);
      this.#afterCommit.push(() => this.#attempts.start(run, task));
      this.#keepAt ??= later(turn.now, this.#heartbeat);
    }
  }

  #judge(turn: Turn, run: Run): void {
    if (run.status.state === "active") {
      if (!this.dispatcher.knows(run)) return;
      const verdict = judgeRun(run, () => this.#dispatching && this.dispatcher.canMove(run));
      if (verdict.kind === "finished") {
        this.#journal.ofRun(run.no, { kind: "run_finished", outcome: verdict.outcome }, turn.now);
        this.dispatcher.dismiss(run);
      }
      if (verdict.kind === "stalled" && this.#dispatching) {
        this.#journal.ofRun(run.no, { kind: "run_stalled", remaining: verdict.remaining }, turn.now);
      }
      if (verdict.kind === "going") return;
    }
    const waiters = this.#idleWaiters.get(run) ?? [];
    this.#idleWaiters.delete(run);
    if (waiters.length > 0) this.#afterCommit.push(() => waiters.forEach((tell) => tell(run)));
  }

  #stopLater(task: Task, reason: StopReason, grace = this.#grace): void {
    const hard = reason.kind === "timeout" && reason.limit === "hard";
    this.#afterCommit.push(() => this.#attempts.stop(task, reason, hard ? millis(0) : grace));
  }

  #mustCommit(now: Instant): boolean {
    if (this.#journal.urgent || this.#afterCommit.length > 0) return true;
    if (this.#journal.empty) return false;
    this.#lazySince ??= now;
    return now >= later(this.#lazySince, LAZY_MAX);
  }

  async #commit(): Promise<void> {
    this.#lazySince = undefined;
    const acts = this.#afterCommit;
    this.#afterCommit = [];
    if (!this.#journal.empty) {
      const batch = this.#journal.take(this.#deps.epoch);
      const committed = await this.#deps.store.commit(batch);
      if (!committed.ok) throw new UserError("STATE_BUSY", "Another scheduler has taken this state directory over");
      for (const listener of this.#listeners) listener(batch.events);
    }
    for (const act of acts) act();
  }

  #touchAll(): void {
    for (const run of this.world.runs.values()) this.#touched.add(run);
    this.#schedule();
  }

  /** Until something comes in, or the next moment at which something is due. */
  #sleep(): void {
    if (this.#closed) return;
    const lazy = this.#lazySince === undefined ? undefined : later(this.#lazySince, LAZY_MAX);
    const wakes = [
      lazy,
      this.#keepAt,
      this.#deadlines.next(),
      this.#dispatching ? this.dispatcher.nextWake(this.#deps.clock.now()) : undefined,
    ];
    const next = wakes.reduce((first, each) =>
      each !== undefined && (first === undefined || each < first) ? each : first,
    );
    if (next === this.#timerAt) return;
    this.#timer?.cancel();
    this.#timerAt = next;
    this.#timer = next === undefined ? undefined : this.#deps.clock.at(next, () => this.#wake());
  }

  #wake(): void {
    this.#timerAt = undefined;
    this.#schedule();
  }
}

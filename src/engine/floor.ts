/**
 * One turn after the other: takes what came in, decides, commits, and only then acts. Nothing runs and nobody is told before the store
 * has it. One turn handles everything that has come in since the last one, in one transaction.
 */
import { Deadlines } from "../decide/deadlines.ts";
import { Dispatcher, type DispatcherOptions } from "../decide/dispatcher.ts";
import { judgeRun } from "../decide/finish.ts";
import { lessonsOf } from "../decide/lessons.ts";
import { LookAhead, type Policy } from "../decide/look-ahead.ts";
import { PRESSURE_POLICY, type PressureLimits, pressureMode } from "../decide/pressure.ts";
import { nextDeadline, overdue } from "../decide/timeouts.ts";
import { UserError } from "../domain/errors.ts";
import type { Event } from "../domain/event.ts";
import { HEARTBEAT_INTERVAL, LEASE_TTL } from "../domain/lease.ts";
import { type Run, remaining } from "../domain/run.ts";
import { isHeld, type StopReason, type Task } from "../domain/task.ts";
import { earliest, type Instant, later, type Millis, millis, seconds } from "../domain/time.ts";
import { type Change, World } from "../domain/world.ts";
import type { Clock } from "../effects/clock.ts";
import { hashToken, type Secrets } from "../effects/random.ts";
import type { Attempt, Executor } from "../execute/executor.ts";
import type { Epoch, Store } from "../store/store.ts";
import { Attempts } from "./attempts.ts";
import { Journal } from "./journal.ts";
import { Loop } from "./loop.ts";
import { settleDependents, settleLoss, settleReport, stopAttempt, type Turn } from "./settle.ts";

export interface FloorDeps {
  readonly store: Pick<Store, "commit">;
  readonly epoch: Epoch;
  readonly clock: Clock;
  readonly secrets: Secrets;
  readonly executor: Executor;
  /** Everything needed to make the task's current attempt. */
  readonly attemptOf: (run: Run, task: Task) => Attempt;
  readonly options: FloorOptions;
}

export interface FloorOptions extends DispatcherOptions {
  /** How long a stopped attempt has between being asked to end and being killed. */
  readonly grace?: Millis;
  readonly leaseTtl?: Millis;
  readonly heartbeat?: Millis;
  /** How full the queue may be before less is done at once. Never too full when absent. */
  readonly pressure?: PressureLimits;
  /** How the order within a run is found; `auto` when absent. */
  readonly policy?: Policy;
}

/** How long what is not urgent may wait for the next commit. */
const LAZY_MAX = millis(20);
const GRACE = seconds(5);

type Input = (turn: Turn) => void;

export class Floor {
  readonly world = new World();
  readonly dispatcher: Dispatcher;
  readonly attempts: Attempts;
  readonly grace: Millis;
  readonly #deps: FloorDeps;
  readonly #journal: Journal;
  readonly #deadlines: Deadlines;
  readonly #lookAhead: LookAhead;
  readonly #loop: Loop;
  readonly #ttl: Millis;
  readonly #heartbeat: Millis;
  readonly #touched = new Set<Run>();
  readonly #listeners = new Set<(events: readonly Event[]) => void>();
  readonly #idleWaiters = new Map<Run, ((run: Run) => void)[]>();
  readonly #failure = Promise.withResolvers<never>();
  #inbox: Input[] = [];
  #ended: { readonly run: Run; readonly task: Task }[] = [];
  #afterCommit: (() => void)[] = [];
  #dispatching = true;
  #keepAt: Instant | undefined;
  #lazySince: Instant | undefined;

  constructor(deps: FloorDeps) {
    const { options, clock } = deps;
    this.#deps = deps;
    this.grace = options.grace ?? GRACE;
    this.#ttl = options.leaseTtl ?? LEASE_TTL;
    this.#heartbeat = options.heartbeat ?? HEARTBEAT_INTERVAL;
    this.dispatcher = new Dispatcher(options);
    const { policy = "auto" } = options;
    this.#lookAhead = new LookAhead({ dispatcher: this.dispatcher, policy, now: () => clock.now() });
    this.#journal = new Journal(this.world, (change) => this.#observe(change));
    this.#deadlines = new Deadlines((_, task) => nextDeadline(task, this.attempts.signs(task), this.#patience));
    this.attempts = new Attempts({
      executor: deps.executor,
      now: () => clock.now(),
      attemptOf: deps.attemptOf,
      report: (run, task, fence, report) => this.take((turn) => settleReport(turn, run, task, fence, report)),
    });
    this.#loop = new Loop({
      clock,
      turn: (now) => this.#turn(now),
      pending: () => this.#inbox.length > 0 || this.#touched.size > 0,
      nextWake: (now) => this.#nextWake(now),
      failed: (error) => this.#failure.reject(error),
    });
    // Whoever waits for a run hears of it; nobody has to.
    this.#failure.promise.catch(() => {});
  }

  /** Broken, never kept: when the store can no longer be trusted, nothing more is decided. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Has the next turn do something. */
  take(input: Input): void {
    this.#inbox.push(input);
    this.#loop.schedule();
  }

  /** Runs `change` in the next turn; kept once what it did is durable. */
  durably<T>(change: (turn: Turn) => T): Promise<T> {
    const done = new Promise<T>((resolve) => {
      this.take((turn) => {
        const result = change(turn);
        this.#afterCommit.push(() => resolve(result));
      });
    });
    return Promise.race([done, this.failed]);
  }

  /** The run is to be judged in this turn, or the next. */
  touch(run: Run): void {
    this.#touched.add(run);
    this.#loop.schedule();
  }

  /** Kept when nothing of the run can go on by itself. */
  idle(run: Run): Promise<Run> {
    const ended = new Promise<Run>((resolve) => {
      this.#idleWaiters.set(run, [...(this.#idleWaiters.get(run) ?? []), resolve]);
    });
    this.touch(run);
    return Promise.race([ended, this.failed]);
  }

  /** Watches what the run has out already, and renews its leases at the next opportunity. */
  watch(run: Run): void {
    for (const task of run.tasks) if (isHeld(task.status)) this.#deadlines.watch(run, task);
    this.#keepAt = undefined;
    this.#touched.add(run);
  }

  pause(): void {
    this.#dispatching = false;
    for (const run of this.world.runs.values()) this.touch(run);
  }

  /** Has an attempt stopped once the turn is durable. A hard limit leaves no grace. */
  stopLater(task: Task, reason: StopReason, grace: Millis): void {
    const hard = reason.kind === "timeout" && reason.limit === "hard";
    this.#afterCommit.push(() => this.attempts.stop(task, reason, hard ? millis(0) : grace));
  }

  close(): void {
    this.#loop.close();
  }

  /** How many tasks wait, over all runs. */
  get queued(): number {
    let queued = 0;
    for (const run of this.world.runs.values()) queued += remaining(run) - run.counts.claimed - run.counts.running;
    return queued;
  }

  /** Time-outs are longer when there is much to do. */
  get #patience(): number {
    return PRESSURE_POLICY[this.dispatcher.mode].timeoutFactor;
  }

  #observe(change: Change): void {
    this.dispatcher.observe(change);
    this.#deadlines.observe(change);
    const { run, task, to } = change;
    this.#touched.add(run);
    if (to.state === "failed" || to.state === "skipped" || to.state === "cancelled") this.#ended.push({ run, task });
  }

  async #turn(now: Instant): Promise<void> {
    this.#decide({ now, journal: this.#journal, stop: (task, reason) => this.stopLater(task, reason, this.grace) });
    if (this.#mustCommit(now)) await this.#commit();
  }

  /** Everything this turn has to rule on, in a fixed order: the same inputs give the same events. */
  #decide(turn: Turn): void {
    const inbox = this.#inbox;
    this.#inbox = [];
    for (const input of inbox) input(turn);
    this.#keep(turn);
    this.#feelPressure();
    this.#deadlines.due(turn.now, (run, task) => this.#look(turn, run, task));
    this.#settleEnds(turn);
    if (this.#dispatching) this.#dispatch(turn);
    for (const run of this.#touched) this.#judge(turn, run);
    this.#touched.clear();
  }

  /** Renews the leases of what is alive here. */
  #keep(turn: Turn): void {
    if (this.#keepAt !== undefined && turn.now < this.#keepAt) return;
    this.#keepAt = this.attempts.size === 0 ? undefined : later(turn.now, this.#heartbeat);
    for (const { run, task } of this.attempts.current()) {
      if (!isHeld(task.status)) continue;
      const deadline = later(turn.now, this.#ttl);
      if (deadline <= task.status.lease.deadline) continue;
      this.#journal.ofTask(run, task, { kind: "lease_renewed", deadline }, turn.now);
      this.#deadlines.watch(run, task);
    }
  }

  #feelPressure(): void {
    const limits = this.#deps.options.pressure;
    if (limits === undefined) return;
    const { mode: before } = this.dispatcher;
    const { queued } = this;
    const mode = pressureMode(before, queued, limits);
    this.dispatcher.pressure = { mode, queued, depth: limits.depth };
    if (mode === before) return;
    // Every time-out has moved with the mode.
    for (const { run, task } of this.dispatcher.held()) this.#deadlines.watch(run, task);
  }

  #look(turn: Turn, run: Run, task: Task): void {
    const found = overdue(task, this.attempts.signs(task), turn.now, this.#patience);
    switch (found?.kind) {
      case "expired":
        return settleLoss(turn, run, task, false);
      case "stop":
        return stopAttempt(turn, run, task, found.reason);
      case "silent":
        this.attempts.silenceReported(task);
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
    for (const { run, task, news } of this.dispatcher.age(turn.now)) this.#journal.ofTask(run, task, news, turn.now);
    this.#lookAhead.consider(turn.now);
    for (let next = this.dispatcher.next(turn.now); next !== undefined; next = this.dispatcher.next(turn.now)) {
      const { run, task, worker, evidence } = next;
      const deadline = later(turn.now, this.#ttl);
      const tokenHash = hashToken(this.#deps.secrets.token());
      this.#journal.ofTask(run, task, { kind: "claimed", worker, deadline, evidence, tokenHash }, turn.now);
      this.#afterCommit.push(() => this.attempts.start(run, task));
      this.#keepAt ??= later(turn.now, this.#heartbeat);
    }
    for (const { run, task, news } of this.dispatcher.takeNotices()) this.#journal.ofTask(run, task, news, turn.now);
  }

  #judge(turn: Turn, run: Run): void {
    if (run.status.state === "active") {
      if (!this.dispatcher.knows(run)) return;
      const verdict = judgeRun(run, () => this.#dispatching && this.dispatcher.canMove(run));
      if (verdict.kind === "finished") {
        this.#journal.ofRun(run.no, { kind: "run_finished", outcome: verdict.outcome }, turn.now);
        this.#journal.learn(run, lessonsOf(run));
        this.dispatcher.dismiss(run);
      }
      if (verdict.kind === "stalled" && this.#dispatching) {
        this.#journal.ofRun(run.no, { kind: "run_stalled", remaining: verdict.remaining }, turn.now);
      }
      if (verdict.kind === "going") return;
    }
    const waiters = this.#idleWaiters.get(run) ?? [];
    this.#idleWaiters.delete(run);
    for (const tell of waiters) this.#afterCommit.push(() => tell(run));
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

  #nextWake(now: Instant): Instant | undefined {
    return earliest(
      this.#lazySince && later(this.#lazySince, LAZY_MAX),
      this.#keepAt,
      this.#deadlines.next(),
      this.#dispatching ? this.dispatcher.nextWake(now) : undefined,
    );
  }
}

/**
 * One turn after the other: takes what came in, decides, commits, and only then acts. Nobody is told of anything before the store has it, and
 * nothing runs of which the store does not know that it may. While the store is at work the next turns are taken already; what they bring is written together, when it is done.
 */
import { Deadlines } from "../decide/deadlines.ts";
import type { Assignment, Dispatcher } from "../decide/dispatcher.ts";
import { LookAhead } from "../decide/look-ahead.ts";
import { Pools } from "../decide/pools.ts";
import { PRESSURE_POLICY, pressureMode } from "../decide/pressure.ts";
import { nextDeadline } from "../decide/timeouts.ts";
import { UserError } from "../domain/errors.ts";
import type { Event } from "../domain/event.ts";
import { HEARTBEAT_INTERVAL, LEASE_TTL, NO_TOKEN } from "../domain/lease.ts";
import type { DispatchMode } from "../domain/pool.ts";
import type { Run } from "../domain/run.ts";
import { isHeld, type StopReason, type Task } from "../domain/task.ts";
import { earliest, type Instant, instant, later, type Millis, millis, seconds } from "../domain/time.ts";
import { type Change, World } from "../domain/world.ts";
import { Attempts, type Report } from "./attempts.ts";
import { Desk } from "./desk.ts";
import { Failure } from "./failure.ts";
import { batchFor, type FloorDeps } from "./floor-setup.ts";
import { Gate } from "./gate.ts";
import { Histories } from "./histories.ts";
import { Journal } from "./journal.ts";
import { Leases } from "./leases.ts";
import { Lookout } from "./lookout.ts";
import { Loop } from "./loop.ts";
import { Outbox } from "./outbox.ts";
import { Recorder } from "./recorder.ts";
import { Roll } from "./roll.ts";
import { settleDependents, settleReport, type Turn } from "./settle.ts";
import { Tokens } from "./tokens.ts";
import { Verdicts } from "./verdicts.ts";

/** How long what is not urgent may wait for the next commit. */
const LAZY_MAX = millis(20);
const GRACE = seconds(5);
/** No turn comes so late by itself. */
const SLEPT = seconds(10);

type Input = (turn: Turn) => void;

export class Floor {
  readonly world = new World();
  readonly pools: Pools;
  readonly attempts: Attempts;
  readonly leases: Leases;
  readonly desk: Desk;
  readonly roll: Roll;
  readonly histories: Histories;
  readonly tokens: Tokens;
  readonly grace: Millis;
  readonly #deps: FloorDeps;
  readonly #journal: Journal;
  readonly #deadlines: Deadlines;
  readonly #lookAhead: LookAhead;
  readonly #lookout: Lookout;
  readonly #loop: Loop;
  readonly #batchMax: number;
  readonly #ttl: Millis;
  readonly #heartbeat: Millis;
  #touched = new Set<Run>();
  readonly #outbox: Outbox;
  readonly #recorder: Recorder;
  readonly #verdicts: Verdicts;
  readonly #failure = new Failure();
  #inbox: Input[] = [];
  #ended: { readonly run: Run; readonly task: Task }[] = [];
  readonly gate = new Gate(() => this.#touchAll());
  /** There was more to give out than one turn does. */
  #hasMore = false;
  #keepAt: Instant | undefined;
  #lazySince: Instant | undefined;
  /** When the next turn is due. Not looked at between turns that follow each other without a pause. */
  #due: Instant | undefined;
  #turnedAt = instant(0);

  constructor(deps: FloorDeps) {
    const { options, clock } = deps;
    this.#deps = deps;
    this.#outbox = new Outbox(clock, (attempt) => this.attempts.start(attempt));
    this.tokens = new Tokens(deps.secrets);
    this.grace = options.grace ?? GRACE;
    this.#batchMax = options.batchMax ?? batchFor(options.workers.length);
    this.#ttl = options.leaseTtl ?? LEASE_TTL;
    this.#heartbeat = options.heartbeat ?? HEARTBEAT_INTERVAL;
    this.pools = new Pools(options, this.world);
    const [{ policy = "auto" }, { dispatcher }] = [options, this];
    this.#lookAhead = new LookAhead({ dispatcher, policy, now: () => clock.now() });
    this.#journal = new Journal(this.world, (change) => this.#observe(change));
    this.#deadlines = new Deadlines((_, task) => nextDeadline(task, this.#lookout.signs(task), this.#patience));
    this.attempts = new Attempts({
      executor: deps.executor,
      now: () => clock.now(),
      attemptOf: deps.attemptOf,
      report: (...report) => this.take((turn) => this.#hear(turn, ...report)),
    });
    const watch = (run: Run, task: Task) => this.#deadlines.watch(run, task);
    this.histories = new Histories(deps.store);
    this.roll = new Roll(this.world, this.pools);
    this.leases = new Leases({ world: this.world, tokens: this.tokens, watch, ttl: this.#ttl });
    this.desk = new Desk({
      world: this.world,
      pools: this.pools,
      leases: this.leases,
      tokens: this.tokens,
      modeOf: (pool) => this.modeOf(pool),
      ...(options.ack !== undefined && { ack: options.ack }),
    });
    this.#lookout = new Lookout({
      world: this.world,
      pools: this.pools,
      attempts: this.attempts,
      leases: this.leases,
      roll: this.roll,
      modeOf: (pool) => this.modeOf(pool),
      patience: () => this.#patience,
      watch,
    });
    this.#loop = new Loop({
      clock,
      turn: (now) => this.#turn(now),
      pending: () => this.#isPending && !this.#recorder.isFull,
      nextWake: (now) => this.#nextWake(now),
      failed: (error) => this.#failure.happen(error),
    });
    this.#verdicts = new Verdicts({
      pools: this.pools,
      leases: this.leases,
      histories: this.histories,
      journal: this.#journal,
      outbox: this.#outbox,
    });
    this.#recorder = new Recorder({
      ...deps,
      batchMax: this.#batchMax,
      journal: this.#journal,
      outbox: this.#outbox,
      done: () => this.#goOn(),
      failed: (error) => this.#fail(error),
    });
  }

  /** This machine's own workers. */
  get dispatcher(): Dispatcher {
    return this.pools.local;
  }

  modeOf(pool: string): DispatchMode {
    return this.#deps.options.modes?.[pool] ?? "pull";
  }

  /** Broken, never kept: when the store can no longer be trusted, nothing more is decided. */
  get failed(): Promise<never> {
    return this.#failure.promise;
  }

  /** Whether all that was decided is durable: what the World says now stays true whatever happens. */
  get settled(): boolean {
    return this.#recorder.settled;
  }

  /** The promise, unless everything fails before it is kept. */
  orFail<T>(promise: Promise<T>): Promise<T> {
    return this.#failure.orFail(promise);
  }

  listen(listener: (events: readonly Event[]) => void): () => void {
    return this.#outbox.listen(listener);
  }

  /** Has the next turn do something. */
  take(input: Input): void {
    this.#inbox.push(input);
    this.#loop.schedule();
  }

  /** Runs `change` in the next turn; kept once what it did is durable. */
  durably<T>(change: (turn: Turn) => T): Promise<T> {
    return this.#failure.promiseOf((keep, refuse) =>
      this.take((turn) => {
        try {
          const result = change(turn);
          this.#outbox.answer(() => keep(result));
        } catch (error) {
          // What a caller got wrong is the caller's: the turn goes on. A refusal may have left a trace, which comes first.
          if (!(error instanceof UserError)) throw error;
          this.#outbox.answer(() => refuse(error));
        }
      }),
    );
  }

  /** The run is to be judged in this turn, or the next. */
  touch(run: Run): void {
    this.#touched.add(run);
    this.#loop.schedule();
  }

  /** Kept when nothing of the run can go on by itself, or nobody waits for it any more. */
  idle(run: Run, until?: AbortSignal): Promise<Run> {
    const ended = this.#verdicts.awaited(run, until);
    this.touch(run);
    return this.#failure.orFail(ended);
  }

  /** Watches what the run has out already, and renews its leases at the next opportunity. */
  watch(run: Run): void {
    for (const task of run.tasks) if (isHeld(task.status)) this.#deadlines.watch(run, task);
    this.#keepAt = undefined;
    this.#touched.add(run);
  }

  /** Has an attempt stopped once the turn is durable. A hard limit leaves no grace. */
  stopLater(task: Task, reason: StopReason, grace: Millis): void {
    const hard = reason.kind === "timeout" && reason.limit === "hard";
    const { attempt } = task;
    this.#outbox.act(() => this.attempts.stop(task, attempt, reason, hard ? millis(0) : grace));
  }

  /** No more turns. Kept when what was decided is written. */
  close(): Promise<void> {
    this.desk.close();
    this.#loop.close();
    return this.#recorder.finish();
  }

  /** Whoever holds something from outside has a whole span to say so. */
  forgive(turn: Turn): void {
    this.#lookout.forgive(turn);
  }

  /** Deals with leases that have run out by now, at most so many (0: all), and names the tasks. */
  sweep(turn: Turn, limit: number): readonly string[] {
    return this.#lookout.sweep(turn, limit);
  }

  /** Time-outs are longer when there is much to do. */
  get #patience(): number {
    return PRESSURE_POLICY[this.dispatcher.mode].timeoutFactor;
  }

  #hear(turn: Turn, run: Run, task: Task, fence: number, report: Report): void {
    settleReport(turn, run, task, fence, report);
    if (report.kind === "ended") this.attempts.heard(task, fence);
  }

  #observe(change: Change): void {
    this.pools.observe(change);
    this.#deadlines.observe(change);
    const { run, task, to } = change;
    this.#touched.add(run);
    if (to.state === "failed" || to.state === "skipped" || to.state === "cancelled") this.#ended.push({ run, task });
  }

  #turn(now: Instant): void {
    if (this.#recorder.isFull) return;
    this.#decide({
      now,
      journal: this.#journal,
      stop: (task, reason) => this.stopLater(task, reason, this.grace),
      after: (act) => this.#outbox.act(act),
    });
    if (!this.#mustCommit(now)) return;
    this.#lazySince = undefined;
    this.#recorder.write();
  }

  #touchAll(): void {
    for (const run of this.world.runs.values()) this.touch(run);
  }

  get #isPending(): boolean {
    return this.#inbox.length > 0 || this.#touched.size > 0 || this.#hasMore;
  }

  /** The store is free again. */
  #goOn(): void {
    if (this.#isPending || !this.#recorder.settled || !this.#outbox.isEmpty) this.#loop.schedule();
  }

  #fail(error: unknown): void {
    this.#loop.close();
    this.#failure.happen(error);
  }

  /** Everything this turn has to rule on, in a fixed order: the same inputs give the same events. */
  #decide(turn: Turn): void {
    const inbox = this.#inbox;
    this.#inbox = [];
    // Woken long after it should have been, and after the last turn: the machine has slept, or its clock was set forward.
    const expected = this.#due !== undefined && this.#due < this.#turnedAt ? this.#turnedAt : this.#due;
    if (expected !== undefined && turn.now > later(expected, SLEPT)) this.#lookout.forgive(turn);
    this.#turnedAt = turn.now;
    for (const input of inbox) input(turn);
    this.#keep(turn);
    this.#feelPressure();
    this.#deadlines.due(turn.now, (run, task) => this.#lookout.look(turn, run, task));
    this.#settleEnds(turn);
    this.#hasMore = this.gate.isOpen && !this.#dispatch(turn);
    for (const run of this.#touched) this.#verdicts.judge(turn.now, run, !this.gate.isShut);
    this.#touched = new Set();
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
    const { queued } = this.pools;
    const mode = pressureMode(before, queued, limits);
    this.pools.pressure = { mode, queued, depth: limits.depth };
    if (mode === before) return;
    // Every time-out has moved with the mode.
    for (const { run, task } of this.pools.held()) this.#deadlines.watch(run, task);
  }

  #settleEnds(turn: Turn): void {
    for (let ended = this.#ended.pop(); ended !== undefined; ended = this.#ended.pop()) {
      settleDependents(turn, ended.run, ended.task);
    }
  }

  /** Whether that was all there is to give out now. */
  #dispatch(turn: Turn): boolean {
    for (const { run, task, news } of this.pools.age(turn.now)) this.#journal.ofTask(run, task, news, turn.now);
    this.#lookAhead.consider(turn.now);
    const wasAll = this.#giveOut(turn);
    this.desk.serve(turn);
    // Who was not reached in this turn does not wait for anything.
    const notices = wasAll ? this.pools.takeNotices(turn.now) : [];
    for (const { run, task, news } of notices) this.#journal.ofTask(run, task, news, turn.now);
    return wasAll;
  }

  #giveOut(turn: Turn): boolean {
    for (let given = 0; given < this.#batchMax; given++) {
      const next = this.dispatcher.next(turn.now);
      if (next === undefined) return true;
      this.#claim(turn, next);
      this.#keepAt ??= later(turn.now, this.#heartbeat);
    }
    return false;
  }

  /** For a worker of this machine: its attempt starts once the claim is durable. */
  #claim({ now, journal }: Turn, { run, task, worker, evidence }: Assignment): void {
    const deadline = later(now, this.#ttl);
    journal.ofTask(run, task, { kind: "claimed", worker, deadline, tokenHash: NO_TOKEN, evidence }, now);
    this.#outbox.start(this.attempts.enter(run, task));
  }

  #mustCommit(now: Instant): boolean {
    if (this.#journal.urgent || !this.#outbox.isEmpty) return true;
    if (this.#journal.empty) return false;
    this.#lazySince ??= now;
    return now >= later(this.#lazySince, LAZY_MAX);
  }

  #nextWake(now: Instant): Instant | undefined {
    // The next turn is taken when the store is free again.
    if (this.#recorder.isFull) return undefined;
    this.#due = earliest(
      this.#lazySince && later(this.#lazySince, LAZY_MAX),
      this.#keepAt,
      this.#deadlines.next(),
      this.gate.isOpen ? this.pools.nextWake(now) : undefined,
    );
    return this.#due;
  }
}

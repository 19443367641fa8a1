/** What one turn decides, in a fixed order: the same inputs give the same events. */

import type { Dispatcher } from "../../decide/dispatcher.ts";
import type { LookAhead } from "../../decide/order/look-ahead.ts";
import type { Pools } from "../../decide/pools.ts";
import { type PressureLimits, pressureMode } from "../../decide/queue/pressure.ts";
import { toSkip } from "../../decide/rules/cascade.ts";
import type { Deadlines } from "../../decide/rules/deadlines.ts";
import type { WorkerId } from "../../domain/ids.ts";
import type { Run } from "../../domain/run.ts";
import { isHeld, isTerminal, type Task } from "../../domain/task.ts";
import { earliest, type Instant, instant, later, type Millis, seconds } from "../../domain/time.ts";
import type { Change, World } from "../../domain/world.ts";
import type { ClaimService } from "../sessions/claim-service.ts";
import type { Keys } from "../sessions/keys.ts";
import type { DeadlineWatcher } from "../work/deadline-watcher.ts";
import type { Leases } from "../work/leases.ts";
import type { LocalWorkers } from "../work/local-workers.ts";
import type { RunJudge } from "../work/run-judge.ts";
import type { Input, Turn } from "./turn.ts";
import type { Rules } from "./turns.ts";

/** A turn is never this late by itself. */
const SLEPT = seconds(10);

export interface TurnRulesDeps {
  readonly world: World;
  readonly pools: Pools;
  readonly lookAhead: LookAhead;
  readonly deadlines: Deadlines;
  readonly leases: Leases;
  readonly workers: LocalWorkers;
  readonly claimService: ClaimService;
  readonly deadlineWatcher: DeadlineWatcher;
  readonly runJudge: RunJudge;
  readonly keys: Keys;
  readonly ttl: Millis;
  readonly heartbeat: Millis;
  /** How many tasks one turn gives out at most. */
  readonly batchMax: number;
  /** The ledger says when each local worker was given its first task. */
  readonly tellsWorkers: boolean;
  readonly pressure: PressureLimits | undefined;
  /** Asks for a turn. */
  readonly schedule: () => void;
}

export class TurnRules implements Rules {
  readonly #deps: TurnRulesDeps;
  /** Runs to be judged. */
  #touched = new Set<Run>();
  /** Tasks that ended without success, whose dependents may have to be skipped. */
  #ended: { readonly run: Run; readonly task: Task }[] = [];
  /** Nothing is given out any more. */
  isShut = false;
  /** There was more to give out than one turn may. */
  #isCut = false;
  /** When the leases of live attempts here are renewed next. */
  #renewAt: Instant | undefined;
  /** When the next turn is due. Not computed between turns that follow each other without a pause. */
  #due: Instant | undefined;
  #turnedAt = instant(0);

  constructor(deps: TurnRulesDeps) {
    this.#deps = deps;
  }

  decide(turn: Turn, inputs: readonly Input[]): void {
    this.#forgiveSleep(turn);
    for (const input of inputs) input(turn);
    this.#renewOwn(turn);
    this.#feelPressure();
    this.#lookAtDeadlines(turn);
    this.#skipDependents(turn);
    this.#deps.keys.settle(turn);
    this.#giveOut(turn);
    this.#judgeRuns(turn);
  }

  observe(change: Change): void {
    const { pools, deadlines, keys } = this.#deps;
    pools.observe(change);
    keys.observe(change);
    deadlines.observe(change);
    const { run, task, to } = change;
    this.#touched.add(run);
    if (to.state === "failed" || to.state === "skipped" || to.state === "cancelled") this.#ended.push({ run, task });
  }

  /** The run is to be judged in this turn, or the next. */
  touch(run: Run): void {
    this.#touched.add(run);
    this.#deps.schedule();
  }

  /** Watches the held tasks of the run, and renews their leases at the next opportunity. */
  watch(run: Run): void {
    for (const task of run.tasks) if (isHeld(task.status)) this.#deps.deadlines.watch(run, task);
    this.#renewAt = undefined;
    this.#touched.add(run);
  }

  /** Nothing is given out any more; running tasks go on. */
  shut(): void {
    this.isShut = true;
    for (const run of this.#deps.world.runs.values()) this.touch(run);
  }

  get hasMore(): boolean {
    return this.#touched.size > 0 || this.#isCut;
  }

  nextWake(now: Instant): Instant | undefined {
    const { deadlines, pools } = this.#deps;
    this.#due = earliest(this.#renewAt, deadlines.next(), this.isShut ? undefined : pools.nextWake(now));
    return this.#due;
  }

  /** Called long after it was due, and after the last turn: the machine has slept, or its clock was set forward. */
  #forgiveSleep(turn: Turn): void {
    const expected = this.#due !== undefined && this.#due < this.#turnedAt ? this.#turnedAt : this.#due;
    if (expected !== undefined && turn.now > later(expected, SLEPT)) this.#deps.deadlineWatcher.forgive(turn);
    this.#turnedAt = turn.now;
  }

  #renewOwn(turn: Turn): void {
    if (this.#renewAt !== undefined && turn.now < this.#renewAt) return;
    const { workers, ttl, heartbeat } = this.#deps;
    this.#renewAt = workers.size === 0 ? undefined : later(turn.now, heartbeat);
    workers.renew(turn, ttl);
  }

  #feelPressure(): void {
    const { pressure: limits, pools, deadlines } = this.#deps;
    if (limits === undefined) return;
    const { mode: before } = this.#local;
    const { queued } = pools;
    const mode = pressureMode(before, queued, limits);
    pools.pressure = { mode, queued, depth: limits.depth };
    if (mode === before) return;
    // Every time-out has moved with the mode.
    for (const { run, task } of pools.held()) deadlines.watch(run, task);
  }

  #lookAtDeadlines(turn: Turn): void {
    const { deadlines, deadlineWatcher } = this.#deps;
    deadlines.due(turn.now, (run, task) => deadlineWatcher.look(turn, run, task));
  }

  /** Skips the tasks that can no longer run; each skip may cause further ones. */
  #skipDependents({ now, pending }: Turn): void {
    for (let ended = this.#ended.pop(); ended !== undefined; ended = this.#ended.pop()) {
      const { run, task } = ended;
      for (const no of toSkip(run, task)) {
        const dependent = run.tasks[no] as Task;
        if (isTerminal(dependent.status.state)) continue;
        pending.ofTask(run, dependent, { kind: "skipped", because: task.no }, now);
      }
    }
  }

  #giveOut(turn: Turn): void {
    this.#isCut = false;
    if (this.isShut) return;
    const { pools, lookAhead, claimService } = this.#deps;
    for (const { run, task, news } of pools.age(turn.now)) turn.pending.ofTask(run, task, news, turn.now);
    lookAhead.consider(turn.now);
    this.#isCut = !this.#toLocalWorkers(turn);
    claimService.serve(turn);
    // A task that this turn did not reach does not wait for anything.
    const notices = this.#isCut ? [] : pools.takeNotices(turn.now);
    for (const { run, task, news } of notices) turn.pending.ofTask(run, task, news, turn.now);
  }

  /** Whether everything that can be given out now was. */
  #toLocalWorkers(turn: Turn): boolean {
    const { leases, workers, batchMax, ttl, heartbeat } = this.#deps;
    for (let given = 0; given < batchMax; given++) {
      const assignment = this.#local.next(turn.now);
      if (assignment === undefined) return true;
      this.#tellOf(turn, assignment.worker);
      leases.grant(turn, assignment, { deadline: later(turn.now, ttl) });
      const live = workers.enter(assignment.run, assignment.task);
      turn.after(() => live.start());
      this.#renewAt ??= later(turn.now, heartbeat);
    }
    return false;
  }

  /** With its first task a worker has started. */
  #tellOf({ now, pending }: Turn, worker: WorkerId): void {
    const { world, tellsWorkers } = this.#deps;
    if (!tellsWorkers || world.workers.has(worker)) return;
    pending.ofSystem({ kind: "worker_started", worker, node: this.#local.nodeOf(worker).name }, now);
  }

  #judgeRuns(turn: Turn): void {
    const touched = this.#touched;
    this.#touched = new Set();
    for (const run of touched) this.#deps.runJudge.judge(turn, run, !this.isShut);
  }

  get #local(): Dispatcher {
    return this.#deps.pools.local;
  }
}

/** The engine's interface for callers from outside: sessions that join, claim and report, and people who pause things. */
import { type Authority, mayActFor, mustActFor, OWNER } from "../domain/authority.ts";
import { UserError } from "../domain/errors.ts";
import { type RunId, type TaskId, type WorkerId, workerId } from "../domain/ids.ts";
import type { LeaseProof } from "../domain/lease.ts";
import { findTask, type Run } from "../domain/run.ts";
import type { ReportedState, Session, SessionProfile } from "../domain/sessions/session.ts";
import type { Priority, TaskSpec } from "../domain/spec.ts";
import { type Asked, isHeld, isTerminal, type Task } from "../domain/task.ts";
import { type Instant, instant, later, type Millis } from "../domain/time.ts";
import { type PauseScope, scopeKey } from "../domain/waiting/pause.ts";
import { Pauses } from "../domain/waiting/pauses.ts";
import type { Clock, Timer } from "../effects/clock.ts";
import { restoreRun } from "../store/rows.ts";
import type { Remembrance, Store } from "../store/store.ts";
import type { Parts } from "./parts.ts";
import { keyOf, type LeaseGrant } from "./sessions/claim.ts";
import type { LeaseReport, LeaseReportResult } from "./sessions/session-reports.ts";
import { ownerOf } from "./sessions/tokens.ts";
import type { Turn } from "./turn/turn.ts";

/** A claim, as callers name it. */
export interface Wanted {
  readonly session: string;
  readonly run?: RunId;
  readonly task?: TaskId;
  readonly priority?: Priority;
  readonly key?: string;
  readonly wait: Millis;
  readonly signal?: AbortSignal | undefined;
}

/** A task that a worker holds, and the worker. */
export interface HeldTask {
  readonly run: Run;
  readonly task: Task;
  readonly worker: WorkerId;
}

/** A caller from outside, and its authority. */
export interface Visitor {
  /** The caller's name in the ledger; absent where the scheduler's own program calls. */
  readonly by?: string;
  readonly authority: Authority;
}

export interface EngineApiDeps
  extends Pick<Parts, "world" | "pools" | "registry" | "claimService" | "reports" | "tokens" | "rules" | "turns"> {
  readonly store: Pick<Store, "recall" | "runs" | "load">;
  readonly clock: Clock;
  /** A stalled run can go on. */
  readonly reopen: (turn: Turn, run: Run) => void;
}

export class EngineApi {
  readonly #deps: EngineApiDeps;
  readonly #visitor: Visitor;
  /** One after the other: each late report reads the record again. */
  readonly #late: { reports: Promise<unknown> };

  constructor(
    deps: EngineApiDeps,
    visitor: Visitor = { authority: OWNER },
    late: { reports: Promise<unknown> } = { reports: Promise.resolve() },
  ) {
    this.#deps = deps;
    this.#visitor = visitor;
    this.#late = late;
  }

  /** The same interface for this caller, with its own authority. */
  as(visitor: Visitor): EngineApi {
    return new EngineApi(this.#deps, visitor, this.#late);
  }

  join(profile: SessionProfile): Promise<Session> {
    return this.#durably((turn) => this.#deps.registry.join(turn, profile, this.#visitor.authority));
  }

  beat(session: string, state: ReportedState | undefined): Promise<Session> {
    return this.#durably((turn) => this.#deps.registry.beat(turn, this.#own(session).profile.id, state));
  }

  leave(session: string, why: string): Promise<void> {
    return this.#durably((turn) => {
      const { profile } = this.#own(session);
      this.#deps.registry.leave(turn, profile.id, why);
      this.#deps.claimService.forget(turn, profile.id);
    });
  }

  /** The session counts as present until the function that this gives is called. */
  attend(session: string): () => void {
    return this.#deps.registry.enter(this.#own(session).profile.id, this.#deps.clock.now());
  }

  seenAt(session: Session): Instant {
    return this.#deps.registry.seenAt(session);
  }

  /** The next task for the session, or the task it names. Nothing when none comes within the wait. */
  async claim(wanted: Wanted): Promise<LeaseGrant | undefined> {
    const session = workerId(wanted.session);
    const { key, wait, run: runName, task: taskName } = wanted;
    const owner = this.#ownerOf(session);
    const recalled = key === undefined ? undefined : await this.#deps.store.recall(keyOf({ id: session, owner }, key));
    const run = runName === undefined ? undefined : this.#mustRun(runName);
    const task = taskName === undefined ? undefined : mustTask(run, taskName);
    return this.#waitFor(wanted, (turn, tell) => {
      // A session that claims is present, and does nothing else.
      this.#deps.registry.beat(turn, session, "idle");
      const until = wait === 0 ? instant(0) : later(turn.now, wait);
      const order = {
        session,
        until,
        ...(run && { run }),
        ...(task && { task }),
        ...(key !== undefined && { key }),
        ...(recalled && { recalled }),
        ...(this.#visitor.by !== undefined && { by: this.#visitor.by }),
        ...(wanted.priority && { priority: wanted.priority }),
      };
      return this.#deps.claimService.claim(turn, order, tell);
    });
  }

  /** The task that the scheduler has assigned to the session. */
  assignment(wanted: Pick<Wanted, "session" | "wait" | "signal">): Promise<LeaseGrant | undefined> {
    const session = workerId(wanted.session);
    return this.#waitFor(wanted, (turn, tell) => {
      this.#deps.registry.beat(turn, session, undefined);
      return this.#deps.claimService.assignment(turn, session, tell);
    });
  }

  /** A report of a holder. The token of a lease is of no use to a caller that it was not given to. */
  async report(proof: LeaseProof, report: LeaseReport): Promise<LeaseReportResult> {
    if (!mayActFor(ownerOf(proof.token), this.#visitor.authority)) throw wrongToken(proof);
    const run = this.#deps.world.findRun(proof.run);
    return run === undefined ? this.#reportLate(proof, report) : this.#accept(run, proof, report);
  }

  /** The answer that a submit under this key got. */
  recall(key: string): Promise<Remembrance | undefined> {
    return this.#deps.store.recall(key);
  }

  /** Nothing new is started in this scope; running tasks go on. */
  hold(scope: PauseScope, asked: Asked): Promise<void> {
    return this.#change({ kind: "paused", scope, asked });
  }

  /** False when the scope was not on hold. */
  async letGo(scope: PauseScope, asked: Asked): Promise<boolean> {
    if (!this.#deps.world.pauses.has(scopeKey(scope))) return false;
    await this.#change({ kind: "resumed", scope, asked });
    return true;
  }

  /** Pauses the scope, and waits until none of its tasks is held. Gives the tasks that still are. */
  async drain(scope: PauseScope, asked: Asked, wait: Millis, signal?: AbortSignal): Promise<readonly HeldTask[]> {
    await this.hold(scope, asked);
    const { pools, world } = this.#deps;
    const reach = new Pauses();
    reach.set(new Map([[scopeKey(scope), { scope, asked, at: this.#deps.clock.now() }]]), (no) => world.run(no));
    const out = (): readonly HeldTask[] =>
      [...pools.held()].filter(({ run, task }) => reach.of(run, task) !== undefined);
    if (out().length > 0 && wait > 0) await this.#until(() => out().length === 0, wait, signal);
    const remaining = out();
    await this.#deps.turns.durably((turn) =>
      turn.pending.ofSystem({ kind: "drained", scope, remaining: remaining.length, by: asked.by }, turn.now),
    );
    return remaining;
  }

  /** Edits the task, while no worker holds it. */
  edit(run: Run, task: Task, changes: Partial<TaskSpec>, asked: Asked): Promise<void> {
    return this.#deps.turns.durably((turn) => {
      const { state } = task.status;
      if (isHeld(task.status) || isTerminal(state)) {
        throw new UserError("CANNOT_EDIT", `Task ${task.spec.id} is ${state}, so it cannot be changed`);
      }
      turn.pending.ofTask(run, task, { kind: "edited", changes, asked }, turn.now);
      // The reason why it was parked may be gone: it is tried again.
      if (state === "parked") turn.pending.ofTask(run, task, { kind: "requeued", asked }, turn.now);
      if (run.status.state === "stalled") this.#deps.reopen(turn, run);
    });
  }

  async #accept(run: Run, { task: id, fence, token }: LeaseProof, report: LeaseReport): Promise<LeaseReportResult> {
    const task = mustTask(run, id);
    const { reports, registry } = this.#deps;
    return this.#durably((turn) => {
      const worker = isHeld(task.status) ? task.status.lease.worker : undefined;
      const result = this.#knowing(run, () => reports.accept(turn, { run, task, fence, token }, report));
      if (worker === undefined || result.repeated) return result;
      registry.heard(turn, worker);
      if (result.held === undefined) registry.delivered(turn, worker);
      return result;
    });
  }

  /** The run may have ended, and been forgotten, since it was looked up: events about it are still written. */
  #knowing<T>(run: Run, act: () => T): T {
    const { runs } = this.#deps.world;
    const known = runs.get(run.no);
    if (known === run) return act();
    // Another run has its number: this scheduler was replaced, and does not know it yet.
    if (known !== undefined) throw unknownRun(run.manifest.id);
    runs.set(run.no, run);
    try {
      return act();
    } finally {
      runs.delete(run.no);
    }
  }

  /**
   * For a report on a run that has ended and was forgotten: the run is read, and stays forgotten. A run may be large, so it is not read for
   * a caller that never had a lease of it; such a report leaves no trace, because it can change nothing any more.
   */
  async #reportLate(proof: LeaseProof, report: LeaseReport): Promise<LeaseReportResult> {
    const [row] = await this.#deps.store.runs({ id: proof.run });
    if (row === undefined) throw unknownRun(proof.run);
    if (row.status.state === "finished" && !this.#deps.tokens.couldBeOf(proof, proof.token)) throw wrongToken(proof);
    const result = this.#late.reports.then(async () => {
      const run = await this.#ended(proof.run);
      const { runs } = this.#deps.world;
      // A run that goes on and is not in memory belongs to another scheduler.
      const isElsewhere = run.manifest.id !== proof.run || (!runs.has(run.no) && run.status.state !== "finished");
      if (isElsewhere) throw unknownRun(proof.run);
      if (runs.get(run.no) === run) return this.#accept(run, proof, report);
      const task = mustTask(run, proof.task);
      return this.#durably((turn) =>
        this.#knowing(run, () => this.#deps.reports.accept(turn, { ...proof, run, task }, report)),
      );
    });
    this.#late.reports = result.catch(() => {});
    return result;
  }

  #change(news: {
    readonly kind: "paused" | "resumed";
    readonly scope: PauseScope;
    readonly asked: Asked;
  }): Promise<void> {
    return this.#deps.turns.durably((turn) => {
      turn.pending.ofSystem(news, turn.now);
      for (const run of this.#deps.pools.review(turn.now)) this.#deps.rules.touch(run);
    });
  }

  /** In the next turn. The events name the caller. */
  #durably<T>(change: (turn: Turn) => T): Promise<T> {
    return this.#deps.turns.durably((turn) => turn.pending.following(this.#visitor.by, () => change(turn)));
  }

  /** The session, if the caller may act for it. */
  #own(id: string): Session {
    const session = this.#deps.registry.must(workerId(id));
    mustActFor(session.profile, this.#visitor.authority);
    return session;
  }

  /** The token that the session belongs to, or will belong to where the caller is about to join it. */
  #ownerOf(session: WorkerId): string | undefined {
    return this.#deps.world.sessions.has(session) ? this.#own(session).profile.owner : this.#visitor.authority.token;
  }

  /** Waits through `begin` until it is told, the wait is over, or the caller is gone. */
  async #waitFor<T>(
    { session, wait, signal }: Pick<Wanted, "session" | "wait" | "signal">,
    begin: (turn: Turn, tell: (found: T | undefined) => void) => () => boolean,
  ): Promise<T | undefined> {
    const found = Promise.withResolvers<T | undefined>();
    // Checked before the session counts as present, and again in the turn: by then another token may have joined under the id.
    this.#ownerOf(workerId(session));
    let stop = (): boolean => true;
    // A grant that is being made at this very moment is waited for: it is written down already.
    const giveUp = (): void => void (stop() && found.resolve(undefined));
    const leave = this.#deps.registry.enter(workerId(session), this.#deps.clock.now());
    let timer: Timer | undefined;
    signal?.addEventListener("abort", giveUp);
    try {
      await this.#durably((turn) => {
        this.#own(session);
        // A caller that is gone gets nothing. A caller that gives up later is answered first.
        if (signal?.aborted === true) return found.resolve(undefined);
        stop = begin(turn, found.resolve);
        if (wait === 0) turn.after(giveUp);
        else timer = this.#deps.clock.at(later(turn.now, wait), giveUp);
      });
      return await this.#deps.turns.orFail(found.promise);
    } finally {
      timer?.cancel();
      leave();
      signal?.removeEventListener("abort", giveUp);
    }
  }

  /** Checks after every commit whether the condition holds durably. */
  async #until(isSo: () => boolean, wait: Millis, signal: AbortSignal | undefined): Promise<void> {
    const done = Promise.withResolvers<void>();
    const stopListening = this.#deps.turns.listen(() => {
      if (this.#deps.turns.settled && isSo()) done.resolve();
    });
    const timer = this.#deps.clock.at(later(this.#deps.clock.now(), wait), () => done.resolve());
    const giveUp = (): void => done.resolve();
    signal?.addEventListener("abort", giveUp);
    try {
      await this.#deps.turns.orFail(done.promise);
    } finally {
      stopListening();
      timer.cancel();
      signal?.removeEventListener("abort", giveUp);
    }
  }

  #mustRun(id: RunId): Run {
    const run = this.#deps.world.findRun(id);
    if (run === undefined) throw new UserError("RUN_UNKNOWN", `There is no run "${id}" under way`);
    return run;
  }

  /** A run that has ended and was forgotten: a report on it is too late, and is answered from the record. */
  async #ended(id: RunId): Promise<Run> {
    const [row] = await this.#deps.store.runs({ id });
    const stored = row && (await this.#deps.store.load(row.no));
    if (stored === undefined) throw unknownRun(id);
    return this.#deps.world.run(stored.row.no) ?? restoreRun(stored.row, stored.specs, stored.tasks);
  }
}

const wrongToken = ({ task, fence }: LeaseProof): UserError =>
  new UserError("TOKEN_WRONG", `The token is not the one of ${task}, claim ${fence}`);
const unknownRun = (id: RunId): UserError => new UserError("RUN_UNKNOWN", `There is no run "${id}"`);

function mustTask(run: Run | undefined, id: TaskId): Task {
  if (run === undefined) throw new UserError("RUN_UNKNOWN", `Say which run task "${id}" is of`);
  const task = findTask(run, id);
  if (task === undefined) throw new UserError("TASK_UNKNOWN", `Run ${run.manifest.id} has no task "${id}"`);
  return task;
}

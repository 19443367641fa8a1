/**
 * The one place for leases. Every lease is granted, begun, renewed and settled here, whether a local worker or a session holds it, and each of
 * these is one event. The right to report is checked before: `local-workers.ts` by the fence, `session-reports.ts` by fence and token.
 */
import type { Assignment } from "../../decide/dispatcher.ts";
import { isPoison, jitterOf, rule, ruleOnLoss, ruleOnRelease } from "../../decide/rules/rule.ts";
import type { TaskNews } from "../../domain/event.ts";
import { isExpired, NO_TOKEN } from "../../domain/lease.ts";
import type { Outcome, Success } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";
import { cancellerOf, type Held, isHeld, isWorking, type ProcessIdentity, type Task } from "../../domain/task.ts";
import type { Instant, Millis } from "../../domain/time.ts";
import type { World } from "../../domain/world.ts";
import type { Turn } from "../turn/turn.ts";
import type { Signs } from "./signs.ts";

/** The terms on which a task is given out. */
export interface Terms {
  readonly deadline: Instant;
  /** Absent for a local worker: only the scheduler reports on its lease. */
  readonly tokenHash?: string;
  /** The caller's key for the claim. */
  readonly key?: string;
  /** The caller. */
  readonly by?: string;
}

export interface LeasesDeps {
  readonly world: World;
  readonly signs: Signs;
  /** The deadline has moved. */
  readonly watch: (run: Run, task: Task) => void;
  readonly ttl: Millis;
  /** The work of a task with an acceptance command is done. */
  readonly verify: (turn: Turn, run: Run, task: Task, work: Success) => void;
}

export class Leases {
  readonly #deps: LeasesDeps;

  constructor(deps: LeasesDeps) {
    this.#deps = deps;
  }

  /** Gives the task to the worker. */
  grant({ now, pending }: Turn, { run, task, worker, evidence }: Assignment, terms: Terms): void {
    pending.ofTask(run, task, { kind: "claimed", worker, evidence, tokenHash: NO_TOKEN, ...terms }, now);
    this.#deps.signs.progressed(task, now);
  }

  /** Whether the worker that made this claim holds the task at this moment. */
  isLive({ status }: Task, fence: number, now: Instant): boolean {
    return isWorking(status) && status.lease.fence === fence && !isExpired(status.lease, now);
  }

  /** The holder has started the work. */
  begin({ now, pending }: Turn, run: Run, task: Task, process?: ProcessIdentity): void {
    const { status } = task;
    const begins = status.state === "claimed" || (status.state === "verifying" && status.begun !== true);
    if (!begins) return;
    this.#deps.signs.begun(task, now);
    pending.ofTask(run, task, process === undefined ? { kind: "started" } : { kind: "started", process }, now);
  }

  /** Moves the deadline, never back. */
  renew(turn: Turn, run: Run, task: Task, deadline: Instant): void {
    if (!isHeld(task.status) || deadline <= task.status.lease.deadline) return;
    this.moveDeadline(turn, run, task, deadline);
  }

  /** Sets the deadline, also to an earlier moment: a clock may have been set back since it was written. */
  moveDeadline({ now, pending }: Turn, run: Run, task: Task, deadline: Instant): void {
    pending.ofTask(run, task, { kind: "lease_renewed", deadline }, now);
    this.#deps.watch(run, task);
  }

  /** How long the holder of this lease keeps it without a sign of life. */
  ttlOf({ lease }: Held): Millis {
    return this.#deps.world.sessions.get(lease.worker)?.profile.ttl ?? this.#deps.ttl;
  }

  /** The holder reports its progress. */
  note({ now, pending }: Turn, run: Run, task: Task, note: string): void {
    pending.ofTask(run, task, { kind: "noted", note }, now);
  }

  /** The holder has ended its work. Work that succeeded is verified first, if the task asks for that. */
  settle(turn: Turn, run: Run, task: Task, outcome: Outcome, notBefore = turn.now): void {
    const { status, spec } = task;
    const mayBeDone = outcome.kind === "success" && isWorking(status) && cancellerOf(status) === undefined;
    if (mayBeDone && spec.verify !== undefined) {
      this.#deps.signs.end(task);
      return this.#deps.verify(turn, run, task, outcome);
    }
    this.conclude(turn, run, task, outcome, notBefore);
  }

  /** The only way from an outcome to the ledger. */
  conclude(turn: Turn, run: Run, task: Task, outcome: Outcome, notBefore = turn.now): void {
    const news = rule(task, outcome, turn.now, jitterOf(run.manifest.seed, task.no, task.attempt));
    const isEarly = "notBefore" in news && news.notBefore < notBefore;
    this.#end(turn, run, task, isEarly ? { ...news, notBefore } : news);
  }

  /** The holder is gone, and its outcome is unknown. That is not the task's fault, unless it happens again and again. */
  lose(turn: Turn, run: Run, task: Task, notBefore: Instant, why?: string): void {
    const { status } = task;
    if (!isHeld(status)) return;
    const news = ruleOnLoss(task, status.lease.worker, notBefore);
    this.#end(turn, run, task, news.kind === "expired" && why !== undefined ? { ...news, why } : news);
  }

  /** The holder hands the task back. */
  release(turn: Turn, run: Run, task: Task, why: string): void {
    if (isHeld(task.status)) this.#end(turn, run, task, ruleOnRelease(task, why));
  }

  /** A report under a claim that is over: it changes nothing, and the ledger records it. */
  refuse({ now, pending }: Turn, run: Run, task: Task, fence: number, reported: string): void {
    pending.ofTask(run, task, { kind: "late_report_refused", fence, reported }, now);
  }

  /** The end of a lease, for whatever reason. */
  #end({ now, pending }: Turn, run: Run, task: Task, news: TaskNews): void {
    pending.ofTask(run, task, news, now);
    if (isPoison(task)) pending.ofTask(run, task, { kind: "parked", reason: "poison" }, now);
    this.#deps.signs.end(task);
  }
}

/** Ends held tasks early: the executor ends a local attempt, and a session is told with its next sign of life. */
import { afterLoss } from "../../decide/rules/rule.ts";
import type { TimeoutLimit } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";
import { isHeld, type StopReason, type Task } from "../../domain/task.ts";
import { type Millis, millis } from "../../domain/time.ts";
import type { Turn } from "../turn/turn.ts";
import type { Leases } from "./leases.ts";
import type { LocalWorkers } from "./local-workers.ts";

export interface StopperDeps {
  readonly leases: Leases;
  readonly workers: LocalWorkers;
  /** How long a stopped attempt has between being asked to end and being killed. */
  readonly grace: Millis;
}

export class Stopper {
  readonly #deps: StopperDeps;

  constructor(deps: StopperDeps) {
    this.#deps = deps;
  }

  /** The stop is recorded first; the executor is told when that is durable. A hard limit leaves no grace. */
  stop(turn: Turn, run: Run, task: Task, reason: StopReason, grace = this.#deps.grace): void {
    const { workers } = this.#deps;
    if (reason.kind === "timeout" && reason.limit !== "soft" && !workers.has(task))
      return this.#giveUp(turn, run, task, reason.limit);
    turn.pending.ofTask(run, task, { kind: "stopping", reason }, turn.now);
    this.repeat(turn, task, reason, grace);
  }

  /** Tells the executor again: the first order may have been lost with another scheduler, or there is less time now. */
  repeat(turn: Turn, task: Task, reason: StopReason, grace = this.#deps.grace): void {
    const isHard = reason.kind === "timeout" && reason.limit === "hard";
    const { attempt } = task;
    turn.after(() => this.#deps.workers.stop(task, attempt, reason, isHard ? millis(0) : grace));
  }

  /** A session that exceeded its hard limit is not waited for. It may still work until its lease is over, and no other session gets the task before that. */
  #giveUp(turn: Turn, run: Run, task: Task, limit: TimeoutLimit): void {
    const { status } = task;
    if (!isHeld(status)) return;
    const outcome = { kind: "timeout", limit, durationMs: millis(turn.now - status.since) } as const;
    this.#deps.leases.settle(turn, run, task, outcome, afterLoss(status.lease.deadline, turn.now));
  }
}

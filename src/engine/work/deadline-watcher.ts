/** Watches held tasks: leases that expire, time-outs, and silence. A session is told what would be done to a process of this machine. */
import type { Pools } from "../../decide/pools.ts";
import { afterLoss } from "../../decide/rules/rule.ts";
import { overdue } from "../../decide/rules/timeouts.ts";
import { isExpired, isLocal } from "../../domain/lease.ts";
import type { Run } from "../../domain/run.ts";
import type { DispatchMode } from "../../domain/sessions/pool.ts";
import { poolOf } from "../../domain/spec.ts";
import { isHeld, type Task } from "../../domain/task.ts";
import { later, type Millis } from "../../domain/time.ts";
import type { World } from "../../domain/world.ts";
import type { SessionRegistry } from "../sessions/session-registry.ts";
import type { Turn } from "../turn/turn.ts";
import type { Leases } from "./leases.ts";
import type { LocalWorkers } from "./local-workers.ts";
import type { Signs } from "./signs.ts";
import type { Stopper } from "./stopper.ts";

export interface DeadlineWatcherDeps {
  readonly world: World;
  readonly pools: Pools;
  readonly workers: LocalWorkers;
  readonly leases: Leases;
  readonly signs: Signs;
  readonly stopper: Stopper;
  readonly registry: SessionRegistry;
  readonly modeOf: (pool: string) => DispatchMode;
  /** The factor by which time-outs are longer now. */
  readonly timeoutFactor: () => number;
  readonly stuckAfter: Millis | undefined;
}

export class DeadlineWatcher {
  readonly #deps: DeadlineWatcherDeps;

  constructor(deps: DeadlineWatcherDeps) {
    this.#deps = deps;
  }

  /** A deadline of a held task has come. */
  look(turn: Turn, run: Run, task: Task): void {
    const { signs, stopper, timeoutFactor, stuckAfter } = this.#deps;
    const found = overdue(task, signs.of(task), turn.now, timeoutFactor(), stuckAfter);
    switch (found?.kind) {
      case "expired":
        return this.expire(turn, run, task);
      case "stop":
        return stopper.stop(turn, run, task, found.reason);
      case "silent":
        signs.silenceReported(task);
        return turn.pending.ofTask(run, task, { kind: "silent", forMs: found.for }, turn.now);
      case undefined:
        return;
    }
  }

  /** A lease that was not renewed. A session that was assigned the task and never began it has lost nothing. */
  expire(turn: Turn, run: Run, task: Task, why?: string): void {
    const { world, leases, registry } = this.#deps;
    const { status } = task;
    if (!isHeld(status)) return;
    const { worker } = status.lease;
    const isSession = world.sessions.has(worker);
    if (isSession && this.#isAssigned(task)) {
      leases.release(turn, run, task, `${worker} did not begin it`);
      return registry.missed(turn, worker);
    }
    leases.lose(turn, run, task, afterLoss(status.lease.deadline, turn.now), why);
    if (isSession) registry.lost(turn, worker);
  }

  /** Deals with expired leases, at most `limit` of them (0: all), and names the tasks. */
  sweep(turn: Turn, limit: number, why: string): readonly string[] {
    const swept: string[] = [];
    for (const { run, task } of [...this.#deps.pools.held()]) {
      if (limit > 0 && swept.length === limit) break;
      // An attempt in this process lives, however late this turn is: its lease is renewed before anything else.
      if (this.#deps.workers.has(task)) continue;
      if (!isHeld(task.status) || !isExpired(task.status.lease, turn.now)) continue;
      this.expire(turn, run, task, why);
      swept.push(`${run.manifest.id}/${task.spec.id}`);
    }
    return swept;
  }

  /**
   * The machine slept, or no scheduler was running: sessions had no way to give a sign of life, so each has one whole span again.
   * A task that was only assigned goes back instead, which costs nothing.
   */
  forgive(turn: Turn): void {
    const { pools, workers, leases, signs, registry } = this.#deps;
    registry.forgive(turn.now);
    for (const { run, task } of [...pools.held()]) {
      const { status } = task;
      if (!isHeld(status) || workers.has(task) || isLocal(status.lease)) continue;
      const deadline = later(turn.now, leases.ttlOf(status));
      // A deadline further ahead than that was set by a clock that has been set back since.
      if (this.#isAssigned(task) && status.lease.deadline <= deadline) continue;
      // Its silence is measured from here on, too.
      signs.progressed(task, turn.now);
      if (deadline !== status.lease.deadline) leases.moveDeadline(turn, run, task, deadline);
    }
  }

  /** The scheduler assigned it, and it is not begun. */
  #isAssigned({ spec, status }: Task): boolean {
    if (status.state !== "claimed") return false;
    return this.#deps.modeOf(poolOf(spec)) !== "pull";
  }
}

/**
 * Has the scheduler run the acceptance command of a task whose work is done: under the same fence, while the worker of the task is free
 * already. Only a limited number run at once. A command that was lost with its scheduler proves nothing about the work, and runs again.
 */

import { usedByBoth } from "../../domain/amounts/usage.ts";
import { workerId } from "../../domain/ids.ts";
import type { Outcome, Success } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";
import type { Task, Verifying } from "../../domain/task.ts";
import { later, type Millis, millis } from "../../domain/time.ts";
import type { Turn } from "../turn/turn.ts";
import type { Leases } from "./leases.ts";
import type { Acceptance, LiveAttempt, LocalWorkers } from "./local-workers.ts";

export interface VerifierDeps {
  readonly leases: Leases;
  readonly workers: LocalWorkers;
  readonly ttl: Millis;
  /** How many commands run at once. */
  readonly max: number;
  /** Whether no more commands are begun: waiting ones are left to the next scheduler. */
  readonly isShut: () => boolean;
}

/** The holder of the lease meanwhile. */
const VERIFIER = workerId("local/verify");
/** After this many lost runs of the command the work itself is done again. */
const LOSSES_MAX = 3;

export class Verifier implements Acceptance {
  readonly #deps: VerifierDeps;
  readonly #running = new Set<LiveAttempt>();
  #queue: LiveAttempt[] = [];

  constructor(deps: VerifierDeps) {
    this.#deps = deps;
  }

  /** The work of the task is done. */
  begin(turn: Turn, run: Run, task: Task, work: Success): void {
    const { workers, ttl, isShut } = this.#deps;
    const deadline = later(turn.now, ttl);
    turn.pending.ofTask(run, task, { kind: "verifying", worker: VERIFIER, deadline, outcome: work }, turn.now);
    if (isShut()) return;
    this.#queue.push(workers.enter(run, task));
    this.#startNext(turn);
  }

  /** A command that an earlier scheduler began goes on. */
  adopted(live: LiveAttempt): void {
    this.#running.add(live);
  }

  /** The command has ended, or will never begin. */
  ended(turn: Turn, live: LiveAttempt, { work, losses }: Verifying, outcome: Outcome): void {
    const { run, task } = live;
    this.#running.delete(live);
    this.#queue = this.#queue.filter((each) => each !== live);
    const isAgain = outcome.kind === "shutdown" || (outcome.kind === "lost" && losses + 1 < LOSSES_MAX);
    if (isAgain) this.begin(turn, run, task, work);
    else this.#deps.leases.conclude(turn, run, task, verdictOf(work, outcome));
    this.#startNext(turn);
  }

  /** Nothing is left of a command that an earlier scheduler began, or was about to begin. */
  lost(turn: Turn, run: Run, task: Task, { work, losses }: Verifying): void {
    if (losses + 1 < LOSSES_MAX) this.begin(turn, run, task, work);
    else this.#deps.leases.lose(turn, run, task, turn.now);
  }

  #startNext(turn: Turn): void {
    while (this.#running.size < this.#deps.max) {
      const next = this.#queue.shift();
      if (next === undefined) return;
      this.#running.add(next);
      turn.after(() => next.start());
    }
  }
}

/** The outcome of the task after its acceptance command. The durations of both count. */
function verdictOf(work: Success, outcome: Outcome): Outcome {
  const durationMs = millis(work.durationMs + outcome.durationMs);
  const usage = usedByBoth(work.usage, outcome.usage);
  const spent = { durationMs, ...(usage && { usage }) };
  switch (outcome.kind) {
    case "success":
      return { ...work, ...spent };
    case "exit":
      return { kind: "verify", code: outcome.code, ...spent };
    case "signal":
      return { kind: "verify", code: null, ...spent };
    case "spawn":
      return { kind: "spawn", message: `verify: ${outcome.message}`, ...spent };
    default:
      return { ...outcome, ...spent };
  }
}

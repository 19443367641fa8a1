/**
 * The workers of this machine: sessions inside the scheduler, whose work an executor does. They get tasks by the same grant as all sessions,
 * and report under the same fence. Since they live as long as this process, they need no token and no long poll.
 */
import type { Outcome } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";
import { isHeld, type ProcessIdentity, type StopReason, type Task, type Verifying } from "../../domain/task.ts";
import { type Instant, later, type Millis, millis } from "../../domain/time.ts";
import type { Attempt, Executor, Handle, Saying, Watch } from "../../execute/executor.ts";
import type { Input, Turn } from "../turn/turn.ts";
import type { Leases } from "./leases.ts";
import type { Signs } from "./signs.ts";

/** Hears of acceptance commands. */
export interface Acceptance {
  /** A command that an earlier scheduler began goes on. */
  adopted(live: LiveAttempt): void;
  ended(turn: Turn, live: LiveAttempt, status: Verifying, outcome: Outcome): void;
}

export interface LocalWorkersDeps {
  readonly executor: Executor;
  readonly now: () => Instant;
  readonly attemptOf: (run: Run, task: Task) => Attempt;
  readonly leases: Leases;
  readonly signs: Signs;
  /** Hands an input to the next turn. */
  readonly take: (input: Input) => void;
  /** The part that hears of acceptance commands. */
  readonly verifier: () => Acceptance;
}

export class LocalWorkers {
  readonly #deps: LocalWorkersDeps;
  /** Each stays here until a turn has seen how it ended. */
  readonly #live = new Map<Task, LiveAttempt>();

  constructor(deps: LocalWorkersDeps) {
    this.#deps = deps;
  }

  /** How many attempts are alive, or have ended unseen by a turn. */
  get size(): number {
    return this.#live.size;
  }

  /** Whether the task's attempt belongs to this process, and no turn has seen its end. */
  has(task: Task): boolean {
    return this.#live.has(task);
  }

  /** Every live attempt that is still the current one of its task. */
  *current(): Iterable<LiveAttempt> {
    for (const live of this.#live.values()) if (!live.hasEnded && live.fence === live.task.attempt) yield live;
  }

  /** The worker was given the task. Its attempt begins with `start`, once the claim is durable. */
  enter(run: Run, task: Task): LiveAttempt {
    const { attemptOf, take } = this.#deps;
    const hear = (live: LiveAttempt, report: Report): void => take((turn) => this.#hear(turn, live, report));
    const progressed = (): void => this.#deps.signs.progressed(task, this.#deps.now());
    const live = new LiveAttempt({ run, task, attempt: attemptOf(run, task), hear, progressed, begin: this.#begin });
    this.#live.set(task, live);
    return live;
  }

  /** Takes over an attempt that an earlier scheduler started. False when nothing of it is left. */
  async adopt(run: Run, task: Task, process: ProcessIdentity | undefined): Promise<boolean> {
    const live = this.enter(run, task);
    live.progressed();
    const handle = await this.#deps.executor.adopt(live.attempt, process, live);
    if (handle === undefined) this.#live.delete(task);
    else live.follow(handle);
    if (handle !== undefined && task.status.state === "verifying") this.#deps.verifier().adopted(live);
    return handle !== undefined;
  }

  stop(task: Task, fence: number, reason: StopReason, grace: Millis): void {
    const live = this.#find(task, fence);
    if (live === undefined) return;
    if (live.handle !== undefined) live.handle.stop(reason, grace);
    else if (live.task.status.state === "verifying") live.end(stoppedBefore(reason));
  }

  /** Renews the leases of the attempts that are alive here: a worker in this process lives as long as the process. */
  renew(turn: Turn, ttl: Millis): void {
    const deadline = later(turn.now, ttl);
    for (const live of this.current()) {
      this.#deps.leases.renew(turn, live.run, live.task, deadline);
      this.#note(turn, live);
    }
  }

  /** A report counts only under the fence of the current claim; any other is refused and recorded. */
  #hear(turn: Turn, live: LiveAttempt, report: Report): void {
    const { leases, verifier } = this.#deps;
    const { run, task, fence } = live;
    const { status } = task;
    const isCurrent = isHeld(status) && status.lease.fence === fence;
    if (report.kind === "started") {
      if (isCurrent) leases.begin(turn, run, task, report.process);
      else leases.refuse(turn, run, task, fence, report.kind);
      return;
    }
    if (this.#live.get(task) === live) this.#live.delete(task);
    if (isCurrent) this.#note(turn, live);
    if (!isCurrent) leases.refuse(turn, run, task, fence, report.outcome.kind);
    else if (status.state === "verifying") verifier().ended(turn, live, status, report.outcome);
    else leases.settle(turn, run, task, report.outcome);
  }

  /** The claim is durable. If another claim has replaced it meanwhile, the attempt does not begin. */
  readonly #begin = (live: LiveAttempt): Handle | undefined => {
    if (this.#live.get(live.task) !== live) return undefined;
    live.progressed();
    return this.#deps.executor.start(live.attempt, live);
  };

  /** The last progress note of the attempt goes into the ledger, as a session's note does: with each renewal, and before its end. */
  #note(turn: Turn, live: LiveAttempt): void {
    const note = live.takeSaying();
    if (note !== undefined) this.#deps.leases.note(turn, live.run, live.task, note);
  }

  #find(task: Task, fence: number): LiveAttempt | undefined {
    const live = this.#live.get(task);
    return live?.fence === fence ? live : undefined;
  }
}

/** A report of an attempt, for the next turn. */
type Report =
  | { readonly kind: "started"; readonly process: ProcessIdentity | undefined }
  | { readonly kind: "ended"; readonly outcome: Outcome };

/** The outcome of an attempt that was stopped before it had begun. */
const stoppedBefore = (reason: StopReason): Outcome => {
  const durationMs = millis(0);
  return reason.kind === "timeout"
    ? { kind: "timeout", limit: reason.limit, durationMs }
    : { kind: reason.kind, durationMs };
};

interface LiveParts {
  readonly run: Run;
  readonly task: Task;
  readonly attempt: Attempt;
  readonly begin: (live: LiveAttempt) => Handle | undefined;
  readonly hear: (live: LiveAttempt, report: Report) => void;
  readonly progressed: () => void;
}

export class LiveAttempt implements Watch {
  readonly run: Run;
  readonly task: Task;
  readonly fence: number;
  readonly attempt: Attempt;
  readonly progressed: () => void;
  readonly #begin: LiveParts["begin"];
  readonly #hear: LiveParts["hear"];
  /** Absent before the attempt begins. */
  handle: Handle | undefined;
  hasEnded = false;
  #saying: string | undefined;

  constructor({ run, task, attempt, begin, hear, progressed }: LiveParts) {
    this.run = run;
    this.task = task;
    this.attempt = attempt;
    this.fence = attempt.fence;
    this.progressed = progressed;
    this.#begin = begin;
    this.#hear = hear;
  }

  /** The claim is durable. The attempt may have been stopped since. */
  start(): void {
    if (this.hasEnded) return;
    const handle = this.#begin(this);
    if (handle !== undefined) this.follow(handle);
  }

  follow(handle: Handle): void {
    this.handle = handle;
    void handle.outcome.then((outcome) => this.end(outcome));
  }

  end(outcome: Outcome): void {
    this.hasEnded = true;
    this.#hear(this, { kind: "ended", outcome });
  }

  said({ text }: Saying): void {
    this.#saying = text;
    this.progressed();
  }

  /** The last note, if the ledger does not have it yet. */
  takeSaying(): string | undefined {
    const text = this.#saying;
    this.#saying = undefined;
    return text;
  }

  started(process: ProcessIdentity | undefined): void {
    this.#hear(this, { kind: "started", process });
  }
}

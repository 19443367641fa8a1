/** The attempts of this process, from their claim to their end: who runs them, and when they last gave a sign of life. */
import type { LifeSigns } from "../decide/timeouts.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Run } from "../domain/run.ts";
import type { ProcessIdentity, StopReason, Task } from "../domain/task.ts";
import type { Instant, Millis } from "../domain/time.ts";
import type { Attempt, Executor, Handle, Watch } from "../execute/executor.ts";

/** What an attempt has to say, for the next turn to deal with. */
export type Report =
  | { readonly kind: "started"; readonly process: ProcessIdentity | undefined }
  | { readonly kind: "ended"; readonly outcome: Outcome };

export interface AttemptsDeps {
  readonly executor: Executor;
  readonly now: () => Instant;
  readonly attemptOf: (run: Run, task: Task) => Attempt;
  readonly report: (run: Run, task: Task, fence: number, report: Report) => void;
}

export class Attempts {
  readonly #deps: AttemptsDeps;
  /** Until a turn has seen how they ended. */
  readonly #live = new Map<Task, Live>();

  constructor(deps: AttemptsDeps) {
    this.#deps = deps;
  }

  /** How many are alive, or have ended without a turn having dealt with that. */
  get size(): number {
    return this.#live.size;
  }

  /** A turn has seen the end of this one. */
  heard(task: Task, fence: number): void {
    if (this.#find(task, fence) !== undefined) this.#live.delete(task);
  }

  /** Every one that is alive and still its task's current one. */
  *current(): Iterable<{ readonly run: Run; readonly task: Task }> {
    for (const live of this.#live.values()) if (!live.hasEnded && live.fence === live.task.attempt) yield live;
  }

  /** The task was claimed. It begins with `start`, once that is durable. */
  enter(run: Run, task: Task): Live {
    const live = new Live(this.#deps, run, task);
    this.#live.set(task, live);
    return live;
  }

  /** The claim is durable. Where another has taken its place meanwhile, the attempt is not begun any more. */
  start(live: Live): void {
    if (this.#live.get(live.task) !== live) return;
    live.progressAt = this.#deps.now();
    live.handle = this.#deps.executor.start(live.attempt, live);
    this.#follow(live);
  }

  /** Takes over what an earlier scheduler started. False when nothing of it is left. */
  async adopt(run: Run, task: Task, process: ProcessIdentity | undefined): Promise<boolean> {
    const live = this.enter(run, task);
    live.handle = await this.#deps.executor.adopt(live.attempt, process, live);
    if (live.handle === undefined) this.#live.delete(task);
    else this.#follow(live);
    return live.handle !== undefined;
  }

  stop(task: Task, fence: number, reason: StopReason, grace: Millis): void {
    this.#find(task, fence)?.handle?.stop(reason, grace);
  }

  /** Whether the task's attempt is one of this process, whose end no turn has seen. */
  has(task: Task): boolean {
    return this.#live.has(task);
  }

  signs(task: Task): LifeSigns | undefined {
    return this.#live.get(task);
  }

  silenceReported(task: Task): void {
    const live = this.#live.get(task);
    if (live !== undefined) live.silenceReported = true;
  }

  #find(task: Task, fence: number): Live | undefined {
    const live = this.#live.get(task);
    return live?.fence === fence ? live : undefined;
  }

  #follow(live: Live): void {
    void live.handle?.outcome.then((outcome) => {
      live.hasEnded = true;
      live.say({ kind: "ended", outcome });
    });
  }
}

/** One of them, with its signs of life, which it hears of itself: an object for each of these would be as much again. */
export class Live implements Watch, LifeSigns {
  readonly #deps: AttemptsDeps;
  readonly run: Run;
  readonly task: Task;
  readonly fence: number;
  readonly attempt: Attempt;
  /** None before it is begun. */
  handle: Handle | undefined;
  hasEnded = false;
  progressAt: Instant;
  silenceReported = false;

  constructor(deps: AttemptsDeps, run: Run, task: Task) {
    this.#deps = deps;
    this.run = run;
    this.task = task;
    this.attempt = deps.attemptOf(run, task);
    this.fence = this.attempt.fence;
    this.progressAt = deps.now();
  }

  say(report: Report): void {
    this.#deps.report(this.run, this.task, this.fence, report);
  }

  started(process: ProcessIdentity | undefined): void {
    this.say({ kind: "started", process });
  }

  progressed(): void {
    this.progressAt = this.#deps.now();
    this.silenceReported = false;
  }
}

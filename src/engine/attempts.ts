/** The attempts of this process, from their claim to their end: who runs them, and when they last gave a sign of life. */
import type { LifeSigns } from "../decide/timeouts.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Run } from "../domain/run.ts";
import type { ProcessIdentity, StopReason, Task } from "../domain/task.ts";
import { type Instant, type Millis, millis } from "../domain/time.ts";
import type { Attempt, Executor, Handle, Watch } from "../execute/executor.ts";

/** What an attempt has to say, for the next turn to deal with. */
export type Report =
  | { readonly kind: "started"; readonly process: ProcessIdentity | undefined }
  | { readonly kind: "ended"; readonly outcome: Outcome };

/** Something that runs, or has run, under a claim that is not written down. */
export interface Begun {
  readonly run: Run;
  readonly task: Task;
  /** The claim is made: it is the task's current one from now on. */
  take(): Live;
  /** It cannot be: it is told at once to end. Kept when nothing of it is left. */
  end(): Promise<void>;
}

export interface AttemptsDeps {
  readonly executor: Executor;
  readonly now: () => Instant;
  readonly attemptOf: (run: Run, task: Task) => Attempt;
  readonly report: (run: Run, task: Task, fence: number, report: Report) => void;
  /** One of them has ended well, which is reported next. What should follow at once is begun in here. */
  readonly ending: (live: Live) => void;
}

/** With longer ones it makes no difference how long the next one takes to begin. */
const SHORT_MS = 50;

export class Attempts {
  readonly #deps: AttemptsDeps;
  /** Until a turn has seen how they ended. */
  readonly #live = new Map<Task, Live>();
  /** Got ready before they were even claimed. */
  readonly #ahead = new Map<Task, Attempt>();
  /** Begun at the end of another, before that was dealt with and they were claimed. */
  readonly #early = new Map<Task, Live>();
  /** How long the last one took that ended. */
  #lastMs = Number.POSITIVE_INFINITY;

  constructor(deps: AttemptsDeps) {
    this.#deps = deps;
  }

  /** How many are alive, or have ended without anybody having dealt with that. */
  get size(): number {
    return this.#live.size + this.#early.size;
  }

  /** A turn has seen the end of this one. */
  heard(task: Task, fence: number): void {
    if (this.#find(task, fence) !== undefined) this.#live.delete(task);
  }

  /** Every one that is alive and still its task's current one. */
  *current(): Iterable<{ readonly run: Run; readonly task: Task }> {
    for (const live of this.#live.values()) if (!live.hasEnded && live.fence === live.task.attempt) yield live;
  }

  /** Whether attempts end so soon that getting the next one ready beforehand is worth it. */
  get areShort(): boolean {
    return this.#lastMs < SHORT_MS;
  }

  /** It was claimed. What can be done ahead is done while that is being made durable; nothing is where it begins at once. */
  enter(run: Run, task: Task, begins: boolean): Live {
    const early = this.#early.get(task);
    if (early !== undefined) return this.#takeUp(early);
    const ahead = this.#ahead.get(task);
    this.#ahead.delete(task);
    const live = this.#enter(run, task, ahead);
    if (begins) this.#begin(live);
    else if (ahead === undefined) this.#deps.executor.prepare?.(live.attempt);
    return live;
  }

  /** Its next claim is expected soon. */
  prepareAhead(run: Run, task: Task): void {
    if (this.#ahead.has(task)) return;
    const attempt = this.#nextOf(run, task);
    this.#ahead.set(task, attempt);
    this.#deps.executor.prepare?.(attempt, true);
  }

  /** Begins what the next claim of the task is for, at the end of another. Nothing is said of it before it is claimed. */
  beginAfter({ run, task: ended }: Live, next: Task): void {
    const early = new Live(this.#deps, run, next, this.#ahead.get(next) ?? this.#nextOf(run, next), ended);
    this.#ahead.delete(next);
    this.#early.set(next, early);
    this.#begin(early);
  }

  /** What was begun at the end of this task, and was not claimed yet. */
  begunAfter(ended: Task): Live | undefined {
    for (const live of this.#early.values()) if (live.after === ended) return live;
    return undefined;
  }

  /** It is another task by now: what was begun of it is not what is to be claimed. */
  outdate(task: Task): void {
    const early = this.#early.get(task);
    if (early !== undefined) early.isOutdated = true;
  }

  /** It cannot be claimed: it is told at once to end. Kept when nothing of it is left. */
  async giveUp(early: Live): Promise<void> {
    this.#early.delete(early.task);
    early.handle?.stop({ kind: "shutdown" }, millis(0));
    await early.handle?.outcome;
  }

  /** It is not to be claimed soon after all, or has become something else. */
  forgo(task: Task): void {
    const attempt = this.#ahead.get(task);
    if (attempt === undefined) return;
    this.#ahead.delete(task);
    this.#deps.executor.forgo?.(attempt);
  }

  /** Whoever is waited for takes longer than was expected. */
  forgoAll(): void {
    for (const task of this.#ahead.keys()) this.forgo(task);
  }

  /** The claim is durable. Where another has taken its place meanwhile, it is not begun any more. */
  start(live: Live): void {
    live.isWritten = true;
    if (this.#live.get(live.task) === live && live.handle === undefined) this.#begin(live);
  }

  /** What an earlier scheduler has begun of the task's next claim, before that was written down. Nothing when it has not. */
  async begun(run: Run, task: Task): Promise<Begun | undefined> {
    const attempt = this.#nextOf(run, task);
    let live: Live | undefined;
    const starts: (ProcessIdentity | undefined)[] = [];
    const handle = await this.#deps.executor.adopt(attempt, undefined, {
      started: (process) => void (live === undefined ? starts.push(process) : live.started(process)),
      progressed: () => live?.progressed(),
    });
    if (handle === undefined) return undefined;
    const take = (): Live => {
      live = this.#enter(run, task, attempt);
      live.handle = handle;
      for (const process of starts) live.started(process);
      this.#follow(live);
      return live;
    };
    const end = async (): Promise<void> => {
      handle.stop({ kind: "shutdown" }, millis(0));
      await handle.outcome;
    };
    return { run, task, take, end };
  }

  /** Takes over what an earlier scheduler started. False when nothing of it is left. */
  async adopt(run: Run, task: Task, process: ProcessIdentity | undefined): Promise<boolean> {
    const live = this.#enter(run, task);
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

  #begin(live: Live): void {
    live.progressAt = this.#deps.now();
    live.handle = this.#deps.executor.start(live.attempt, live);
    this.#follow(live);
  }

  #nextOf(run: Run, task: Task): Attempt {
    return this.#deps.attemptOf(run, { ...task, attempt: task.attempt + 1 });
  }

  #takeUp(early: Live): Live {
    this.#early.delete(early.task);
    this.#live.set(early.task, early);
    early.claimed();
    return early;
  }

  #enter(run: Run, task: Task, attempt?: Attempt): Live {
    const live = new Live(this.#deps, run, task, attempt);
    this.#live.set(task, live);
    return live;
  }

  #find(task: Task, fence: number): Live | undefined {
    const live = this.#live.get(task);
    return live?.fence === fence ? live : undefined;
  }

  #follow(live: Live): void {
    void live.handle?.outcome.then((outcome) => {
      live.hasEnded = true;
      this.#lastMs = outcome.durationMs;
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
  /** Whether its claim is durable. */
  isWritten = false;
  /** None before it is begun. */
  handle: Handle | undefined;
  hasEnded = false;
  progressAt: Instant;
  silenceReported = false;
  /** At whose end it was begun, where that was before its claim. */
  readonly after: Task | undefined;
  isOutdated = false;
  /** What it has to say, until it is claimed. */
  #unsaid: Report[] | undefined;

  constructor(deps: AttemptsDeps, run: Run, task: Task, attempt?: Attempt, after?: Task) {
    this.#deps = deps;
    this.run = run;
    this.task = task;
    this.attempt = attempt ?? deps.attemptOf(run, task);
    this.fence = this.attempt.fence;
    this.progressAt = deps.now();
    this.after = after;
    this.#unsaid = after && [];
  }

  /** What is said before anybody knows of it would be taken for something that was said too late. */
  say(report: Report): void {
    if (this.#unsaid !== undefined) this.#unsaid.push(report);
    else this.#deps.report(this.run, this.task, this.fence, report);
  }

  claimed(): void {
    const unsaid = this.#unsaid ?? [];
    this.#unsaid = undefined;
    for (const report of unsaid) this.say(report);
  }

  started(process: ProcessIdentity | undefined): void {
    this.say({ kind: "started", process });
  }

  ending({ kind }: Outcome): void {
    if (kind === "success") this.#deps.ending(this);
  }

  progressed(): void {
    this.progressAt = this.#deps.now();
    this.silenceReported = false;
  }
}

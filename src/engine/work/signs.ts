/**
 * When the holder of each lease last showed progress, and how much of the time since then really passed: one record for local workers and
 * for sessions.
 */
import type { LifeSigns } from "../../decide/rules/timeouts.ts";
import type { Task } from "../../domain/task.ts";
import { type Instant, type Millis, millis } from "../../domain/time.ts";

/** How far the clock has leapt so far. */
type Leapt = () => Millis;

export class Signs {
  readonly #signs = new Map<Task, Sign>();
  readonly #leapt: Leapt;

  constructor(leapt: Leapt) {
    this.#leapt = leapt;
  }

  of(task: Task): LifeSigns | undefined {
    return this.#signs.get(task);
  }

  /** The work begins now. */
  begun(task: Task, at: Instant): void {
    this.#signs.set(task, new Sign(at, this.#leapt));
  }

  /** The holder showed progress, or has just got the task. */
  progressed(task: Task, at: Instant): void {
    const sign = this.#signs.get(task);
    if (sign === undefined) this.#signs.set(task, new Sign(at, this.#leapt));
    else sign.progressed(at);
  }

  silenceReported(task: Task): void {
    const sign = this.#signs.get(task);
    if (sign !== undefined) sign.silenceReported = true;
  }

  /** The lease has ended. */
  end(task: Task): void {
    this.#signs.delete(task);
  }
}

class Sign implements LifeSigns {
  progressAt: Instant;
  silenceReported = false;
  readonly #leapt: Leapt;
  readonly #atBegin: Millis;
  #atProgress: Millis;

  constructor(at: Instant, leapt: Leapt) {
    this.progressAt = at;
    this.#leapt = leapt;
    this.#atBegin = leapt();
    this.#atProgress = this.#atBegin;
  }

  get leaptSinceBegun(): Millis {
    return millis(this.#leapt() - this.#atBegin);
  }

  get leaptSinceProgress(): Millis {
    return millis(this.#leapt() - this.#atProgress);
  }

  progressed(at: Instant): void {
    this.progressAt = at;
    this.#atProgress = this.#leapt();
    this.silenceReported = false;
  }
}

/** When the holder of each lease last showed that it gets on: one account for local workers and for sessions. */
import type { LifeSigns } from "../decide/timeouts.ts";
import type { Task } from "../domain/task.ts";
import type { Instant } from "../domain/time.ts";

interface Sign extends LifeSigns {
  progressAt: Instant;
  silenceReported: boolean;
}

export class Signs {
  readonly #signs = new Map<Task, Sign>();

  of(task: Task): LifeSigns | undefined {
    return this.#signs.get(task);
  }

  /** The holder showed something, or has only just got the task. */
  progressed(task: Task, at: Instant): void {
    const sign = this.#signs.get(task);
    if (sign === undefined) this.#signs.set(task, { progressAt: at, silenceReported: false });
    else [sign.progressAt, sign.silenceReported] = [at, false];
  }

  silenceReported(task: Task): void {
    const sign = this.#signs.get(task);
    if (sign !== undefined) sign.silenceReported = true;
  }

  /** The lease is over. */
  end(task: Task): void {
    this.#signs.delete(task);
  }
}

/**
 * Which task has an idempotency key: the one that was given out first, until it has ended or is parked. All others with that key wait for
 * it, whatever run and pool they are of. One that is to be tried again keeps the key meanwhile.
 */
import type { Run } from "../domain/run.ts";
import { isHeld, type Task } from "../domain/task.ts";

export interface KeyHolder {
  readonly run: Run;
  readonly task: Task;
}

export class Keys {
  readonly #holders = new Map<string, KeyHolder>();

  /** The task has moved, or is taken up as it is. Whether it has let go of its key. */
  follow(run: Run, task: Task): boolean {
    const key = task.spec.idempotencyKey;
    if (key === undefined) return false;
    const holder = this.#holders.get(key);
    // A task under a lease has the key in any case: one that only waits to be tried again may have been taken up before it.
    if (isHeld(task.status) || (hasBegun(task) && holder === undefined)) {
      if (holder?.task !== task) this.#holders.set(key, { run, task });
      return false;
    }
    return holder?.task === task && !hasBegun(task) && this.#holders.delete(key);
  }

  /** Whom the task has to wait for, if for any. */
  holder(task: Task): KeyHolder | undefined {
    const key = task.spec.idempotencyKey;
    if (key === undefined) return undefined;
    const holder = this.#holders.get(key);
    return holder?.task === task ? undefined : holder;
  }
}

const hasBegun = ({ status, attempt }: Task): boolean => status.state === "ready" && attempt > 0;

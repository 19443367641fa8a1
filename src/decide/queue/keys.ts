/**
 * Which task holds an idempotency key: the first task with that key that was given out, until it has ended or is parked. All other tasks with
 * the key wait for it, whatever their run and pool. A task that will be tried again keeps the key meanwhile.
 */
import type { Run } from "../../domain/run.ts";
import { isHeld, type Task } from "../../domain/task.ts";

export interface KeyHolder {
  readonly run: Run;
  readonly task: Task;
}

export class Keys {
  readonly #holders = new Map<string, KeyHolder>();

  /** Follows a task that has moved or was taken up. Gives whether the task has let go of its key. */
  follow(run: Run, task: Task): boolean {
    const key = task.spec.idempotencyKey;
    if (key === undefined) return false;
    const holder = this.#holders.get(key);
    // A task under a lease holds the key in any case: a task that waits for its next try may have been taken up before it.
    if (isHeld(task.status) || (hasBegun(task) && holder === undefined)) {
      if (holder?.task !== task) this.#holders.set(key, { run, task });
      return false;
    }
    return holder?.task === task && !hasBegun(task) && this.#holders.delete(key);
  }

  /** The task that this one has to wait for, if any. */
  holder(task: Task): KeyHolder | undefined {
    const key = task.spec.idempotencyKey;
    if (key === undefined) return undefined;
    const holder = this.#holders.get(key);
    return holder?.task === task ? undefined : holder;
  }
}

const hasBegun = ({ status, attempt }: Task): boolean => status.state === "ready" && attempt > 0;

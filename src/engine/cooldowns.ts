/** When a session was last woken for a task: not again for a while. Only memory; what matters for long is in the store. */
import type { WorkerId } from "../domain/ids.ts";
import { isTerminal, type Task } from "../domain/task.ts";
import { type Instant, later, type Millis } from "../domain/time.ts";

export class Cooldowns {
  readonly #span: Millis;
  readonly #woken = new Map<Task, Map<WorkerId, Instant>>();

  /** 0: nothing is kept at all. */
  constructor(span: Millis) {
    this.#span = span;
  }

  stamp(task: Task, session: WorkerId, now: Instant): void {
    if (this.#span === 0) return;
    const woken = this.#woken.get(task) ?? new Map<WorkerId, Instant>();
    this.#woken.set(task, woken.set(session, now));
  }

  has(task: Task, session: WorkerId, now: Instant): boolean {
    const last = this.#woken.get(task)?.get(session);
    return last !== undefined && now < later(last, this.#span);
  }

  /** Drops what is over, and what belongs to tasks that nobody will be woken for again. */
  forgetOld(now: Instant): void {
    for (const [task, woken] of this.#woken) {
      for (const [session, at] of woken) if (now >= later(at, this.#span)) woken.delete(session);
      if (woken.size === 0 || isTerminal(task.status.state)) this.#woken.delete(task);
    }
  }

  /** Forgets everything, and says how much that was. */
  clear(): number {
    let count = 0;
    for (const woken of this.#woken.values()) count += woken.size;
    this.#woken.clear();
    return count;
  }
}

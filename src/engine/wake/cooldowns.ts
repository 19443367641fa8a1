/** When a session was last woken for a task: for a while it is not woken for it again. Kept in memory only; the store has what must last. */
import type { WorkerId } from "../../domain/ids.ts";
import { isTerminal, type Task } from "../../domain/task.ts";
import { type Instant, later, type Millis } from "../../domain/time.ts";

export class Cooldowns {
  readonly #span: Millis;
  readonly #woken = new Map<Task, Map<WorkerId, Instant>>();

  /** 0: nothing is kept. */
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

  /** Drops entries whose time is over, and entries of tasks that no session will be woken for again. */
  forgetOld(now: Instant): void {
    for (const [task, woken] of this.#woken) {
      for (const [session, at] of woken) if (now >= later(at, this.#span)) woken.delete(session);
      if (woken.size === 0 || isTerminal(task.status.state)) this.#woken.delete(task);
    }
  }

  /** Forgets everything, and gives how many entries that was. */
  clear(): number {
    let count = 0;
    for (const woken of this.#woken.values()) count += woken.size;
    this.#woken.clear();
    return count;
  }
}

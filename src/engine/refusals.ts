/**
 * Which session has said that it may not or will not do which task: the task is not given to that session again unless it asks for it by name.
 * Kept in memory alone: a new scheduler asks each session once more.
 */
import type { WorkerId } from "../domain/ids.ts";
import type { Task } from "../domain/task.ts";

export class Refusals {
  readonly #of = new WeakMap<Task, Set<WorkerId>>();
  readonly #sessions = new Set<WorkerId>();

  note(task: Task, session: WorkerId): void {
    this.#of.set(task, (this.#of.get(task) ?? new Set()).add(session));
    this.#sessions.add(session);
  }

  /** Whether the session may be given the task; nothing for a session that has refused no task, so that no task need be asked about. */
  passes(session: WorkerId): ((task: Task) => boolean) | undefined {
    return this.#sessions.has(session) ? (task) => this.#of.get(task)?.has(session) !== true : undefined;
  }
}

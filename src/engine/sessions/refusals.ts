/**
 * Which session has said that it may not or will not do which task: while another session is there that fits and has not refused it, the task is
 * not given to that session again unless it asks for it by name. Once all have refused it, it is theirs again, so that its attempts come to an
 * end. Kept in memory alone: a new scheduler asks each session once more.
 */
import type { WorkerId } from "../../domain/ids.ts";
import type { Session } from "../../domain/sessions/session.ts";
import type { Task } from "../../domain/task.ts";

/** Gives the sessions that fit the task, busy or not. */
type Suited = (task: Task) => Iterable<Session>;

export class Refusals {
  readonly #suited: Suited;
  readonly #of = new WeakMap<Task, Set<WorkerId>>();
  readonly #sessions = new Set<WorkerId>();

  constructor(suited: Suited) {
    this.#suited = suited;
  }

  note(task: Task, session: WorkerId): void {
    this.#of.set(task, (this.#of.get(task) ?? new Set()).add(session));
    this.#sessions.add(session);
  }

  /** Whether the session may be given the task; nothing for a session that has refused no task, so that no task need be asked about. */
  passes(session: WorkerId): ((task: Task) => boolean) | undefined {
    return this.#sessions.has(session) ? (task) => !this.#isKeptFrom(task, session) : undefined;
  }

  #isKeptFrom(task: Task, session: WorkerId): boolean {
    const refused = this.#of.get(task);
    if (refused?.has(session) !== true) return false;
    for (const { profile } of this.#suited(task)) if (!refused.has(profile.id)) return true;
    return false;
  }
}

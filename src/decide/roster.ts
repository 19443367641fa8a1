/** The sessions of a pool, and which of them may take a task. */
import type { WorkerId } from "../domain/ids.ts";
import type { Session, SessionProfile } from "../domain/sessions/session.ts";
import type { TaskSpec } from "../domain/spec.ts";

/** The fields of a task that decide which sessions may take it. */
export type Calling = Pick<TaskSpec, "requires" | "workspace" | "channel" | "session">;

/** Why a session cannot take a task, whether it is idle or not. */
export const MISFITS = ["workspace", "channel", "session", "capabilities"] as const;
export type Misfit = (typeof MISFITS)[number];

/** Nothing when the session may take the task. A session with a workspace takes only tasks of that workspace. */
export function misfitOf(profile: SessionProfile, calling: Calling): Misfit | undefined {
  if (calling.session !== undefined && calling.session !== profile.id) return "session";
  if (calling.workspace !== profile.workspace) return "workspace";
  if (calling.channel !== undefined && calling.channel !== profile.channel) return "channel";
  return calling.requires.every((each) => profile.capabilities.includes(each)) ? undefined : "capabilities";
}

export class Roster {
  readonly #sessions = new Map<WorkerId, Session>();

  get size(): number {
    return this.#sessions.size;
  }

  get(id: WorkerId): Session | undefined {
    return this.#sessions.get(id);
  }

  enrol(session: Session): void {
    this.#sessions.set(session.profile.id, session);
  }

  dismiss(id: WorkerId): void {
    this.#sessions.delete(id);
  }

  /** In the order of joining. */
  values(): Iterable<Session> {
    return this.#sessions.values();
  }

  /** The sessions that may take the task, busy or not. */
  *suited(calling: Calling): Iterable<Session> {
    for (const session of this.#sessions.values()) {
      if (session.state !== "quarantined" && misfitOf(session.profile, calling) === undefined) yield session;
    }
  }

  /** The required capabilities that the best session lacks. */
  missing(requires: readonly string[]): readonly string[] {
    let least = requires;
    for (const { profile } of this.#sessions.values()) {
      const missing = requires.filter((each) => !profile.capabilities.includes(each));
      if (missing.length < least.length) least = missing;
    }
    return least;
  }
}

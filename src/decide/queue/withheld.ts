/** Ready tasks that the dispatcher may not give out for now: a person put them on hold, or they are kept for one session. */
import type { WorkerId } from "../../domain/ids.ts";
import type { Pauses } from "../../domain/waiting/pauses.ts";
import type { Candidate } from "./queue.ts";

export class Withheld {
  readonly #pauses: Pauses;
  /** The session for which a candidate is kept, for every candidate that is kept. */
  readonly #kept = new Map<Candidate, WorkerId>();
  readonly #offered = new Map<WorkerId, Set<Candidate>>();

  constructor(pauses: Pauses) {
    this.#pauses = pauses;
  }

  /** Whether the candidate has to be withheld. If so, it is. */
  takes(candidate: Candidate): boolean {
    const { run, task } = candidate;
    const { offer } = task;
    if (offer === undefined && this.#pauses.of(run, task) === undefined) return false;
    candidate.standing = "aside";
    if (offer !== undefined) {
      this.#kept.set(candidate, offer.session);
      const offered = this.#offered.get(offer.session) ?? new Set();
      this.#offered.set(offer.session, offered.add(candidate));
    }
    return true;
  }

  remove(candidate: Candidate): void {
    candidate.standing = "waits";
    const session = this.#kept.get(candidate);
    if (session === undefined) return;
    this.#kept.delete(candidate);
    const offered = this.#offered.get(session);
    offered?.delete(candidate);
    if (offered?.size === 0) this.#offered.delete(session);
  }

  /** Every candidate that is kept for a session. */
  *offered(): Iterable<Candidate> {
    for (const offered of this.#offered.values()) yield* offered;
  }

  /** Whether a task is kept for the session. */
  isFor(session: WorkerId): boolean {
    return this.#offered.has(session);
  }

  /** The tasks that are kept for the session and are not on hold. */
  offeredTo(session: WorkerId): readonly Candidate[] {
    return [...(this.#offered.get(session) ?? [])].filter(({ run, task }) => this.#pauses.of(run, task) === undefined);
  }
}

/** What all pools share: the plans' own capacities, the files, the services that tasks depend on, and what is on hold. */

import type { Run, RunNo } from "../../domain/run.ts";
import type { Instant } from "../../domain/time.ts";
import { Pauses } from "../../domain/waiting/pauses.ts";
import { Keys } from "../queue/keys.ts";
import type { Candidate } from "../queue/queue.ts";
import { Breakers } from "./breakers.ts";
import { Locks } from "./locks.ts";
import { Room } from "./room.ts";
import { ownPot, usesOf } from "./shapes.ts";

/** The part that records waits. */
interface WaitNotes {
  /** It was the run's turn, and none of its tasks fitted. */
  passed(run: Run): void;
  /** The task left the queue without having been given out. */
  setAside(candidate: Candidate): void;
}

export class SharedResources {
  /** What plans declare for themselves. */
  readonly shared = new Room({});
  readonly locks = new Locks();
  readonly keys = new Keys();
  readonly breakers = new Breakers();
  readonly pauses = new Pauses();
  /** Told of every task that has to wait, where waits are recorded. */
  waits: WaitNotes | undefined;
  /** How many pools have work of each run. */
  readonly #users = new Map<RunNo, number>();

  /** `now`: the clock may have been set back since the run was written, so recorded times after `now` count as `now`. */
  join(run: Run, now?: Instant): void {
    const users = this.#users.get(run.no) ?? 0;
    this.#users.set(run.no, users + 1);
    if (users > 0) return;
    const { resources, rates = {}, submittedAt } = run.manifest;
    for (const [name, amount] of Object.entries(resources)) this.shared.add(ownPot(run, name), amount);
    const past = (at: Instant): Instant => (now !== undefined && at > now ? now : at);
    for (const [name, rate] of Object.entries(rates)) {
      const uses = usesOf(run, name).map((use) => ({ ...use, at: past(use.at) }));
      this.shared.addRate(ownPot(run, name), rate, past(submittedAt), uses);
    }
  }

  leave(run: Run): void {
    const users = (this.#users.get(run.no) ?? 1) - 1;
    if (users > 0) return void this.#users.set(run.no, users);
    this.#users.delete(run.no);
    const { resources, rates = {} } = run.manifest;
    for (const name of [...Object.keys(resources), ...Object.keys(rates)]) this.shared.remove(ownPot(run, name));
  }
}

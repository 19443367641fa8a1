/** What all pools share: the plans' own capacities, the files, and the services that tasks depend on. */
import type { Run, RunNo } from "../domain/run.ts";
import { Breakers } from "./breakers.ts";
import { Locks } from "./locks.ts";
import { Room } from "./room.ts";
import { ownPot, usesOf } from "./shapes.ts";

export class Commons {
  /** What plans declare for themselves. */
  readonly shared = new Room({});
  readonly locks = new Locks();
  readonly breakers = new Breakers();
  /** How many pools have work of each run. */
  readonly #users = new Map<RunNo, number>();

  join(run: Run): void {
    const users = this.#users.get(run.no) ?? 0;
    this.#users.set(run.no, users + 1);
    if (users > 0) return;
    const { resources, rates = {}, submittedAt } = run.manifest;
    for (const [name, amount] of Object.entries(resources)) this.shared.add(ownPot(run, name), amount);
    for (const [name, rate] of Object.entries(rates)) {
      this.shared.addRate(ownPot(run, name), rate, submittedAt, usesOf(run, name));
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

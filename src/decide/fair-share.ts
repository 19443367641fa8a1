/**
 * Who has had how much, so that those who share do so by weight. What counts is resource-seconds of the dominant resource, metered
 * while tasks run: counting dispatches is fair only when all tasks are alike.
 */
import { type Instant, instant, type Millis } from "../domain/time.ts";

interface Party {
  readonly weight: number;
  /** Weighted service received up to `at`. */
  served: number;
  at: Instant;
  /** Sum of the dominant shares of what runs. */
  running: number;
  queued: number;
}

/** Until something has ended, a task is taken to be this long. */
const ENTRY_DEFAULT = 1_000 as Millis;
/** How many ended tasks the mean length looks back on. */
const ENTRY_MEMORY = 16;

export class FairShare<Key> {
  readonly #parties = new Map<Key, Party>();
  /**
   * Mean length of the tasks that have ended. What runs is charged for this much in advance, so that the free slots of one moment
   * go to everybody and not all to the one who is furthest behind.
   */
  #entry: number = ENTRY_DEFAULT;
  /** Where those stood who had something to do last, for whoever begins when nobody else is there. */
  #last = 0;

  join(key: Key, weight: number): void {
    if (!this.#parties.has(key)) this.#parties.set(key, { weight, served: 0, at: instant(0), running: 0, queued: 0 });
  }

  leave(key: Key): void {
    const party = this.#parties.get(key);
    if (party !== undefined) this.#last = Math.max(this.#last, party.served);
    this.#parties.delete(key);
  }

  /** One more task waits. Who had nothing to wait for starts no further behind than the others are: no hoarded credit. */
  queue(key: Key, now: Instant): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    this.#meter(party, now);
    if (party.queued === 0) party.served += Math.max(0, this.#level(party, now) - this.#position(party, now));
    party.queued++;
  }

  unqueue(key: Key): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    party.queued--;
    this.#remember(party);
  }

  start(key: Key, share: number, now: Instant): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    this.#meter(party, now);
    party.running += share;
  }

  end(key: Key, share: number, ran: Millis, now: Instant): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    this.#meter(party, now);
    party.running = Math.max(0, party.running - share);
    this.#remember(party);
    if (ran > 0) this.#entry += (ran - this.#entry) / ENTRY_MEMORY;
  }

  /** Whether anything of it waits. */
  waits(key: Key): boolean {
    return (this.#parties.get(key)?.queued ?? 0) > 0;
  }

  /** The one who is furthest behind goes first. */
  behind(key: Key, now: Instant): number {
    const party = this.#parties.get(key);
    return party === undefined ? 0 : this.#position(party, now);
  }

  /** Whether it would still be behind the other after one more task of this share. */
  isOwed(key: Key, other: Key, share: number, now: Instant): boolean {
    const [party, favoured] = [this.#parties.get(key), this.#parties.get(other)];
    if (party === undefined || favoured === undefined) return false;
    return this.#position(party, now) + (share * this.#entry) / party.weight <= this.#position(favoured, now);
  }

  /** Its turn came and it had no use for it: it is no further behind than the other who goes instead. */
  forfeit(key: Key, other: Key, now: Instant): void {
    const [party, favoured] = [this.#parties.get(key), this.#parties.get(other)];
    if (party === undefined || favoured === undefined) return;
    this.#meter(party, now);
    party.served += Math.max(0, this.#position(favoured, now) - this.#position(party, now));
  }

  #position({ served, at, running, weight }: Party, now: Instant): number {
    return served + (running * (Math.max(0, now - at) + this.#entry)) / weight;
  }

  #meter(party: Party, now: Instant): void {
    if (now <= party.at) return;
    party.served += (party.running * (now - party.at)) / party.weight;
    party.at = now;
  }

  #remember({ queued, running, served }: Party): void {
    if (queued === 0 && running === 0) this.#last = Math.max(this.#last, served);
  }

  /** Where the others are: the furthest behind of those who wait, else of those who work, else of those who did last. */
  #level(except: Party, now: Instant): number {
    let waiting = Number.POSITIVE_INFINITY;
    let working = Number.POSITIVE_INFINITY;
    for (const party of this.#parties.values()) {
      if (party === except || (party.queued === 0 && party.running === 0)) continue;
      const position = this.#position(party, now);
      if (party.queued > 0) waiting = Math.min(waiting, position);
      else working = Math.min(working, position);
    }
    if (waiting < Number.POSITIVE_INFINITY) return waiting;
    return working < Number.POSITIVE_INFINITY ? working : this.#last;
  }
}

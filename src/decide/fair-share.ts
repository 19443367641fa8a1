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

/** Weighs what runs now against what was had before: about one task's length, so that one moment's free slots go to everybody. */
const ENTRY_DEFAULT = 1_000 as Millis;

export class FairShare<Key> {
  readonly #parties = new Map<Key, Party>();
  /** Mean length of the tasks that have ended, which is what a start is charged until the meter has caught up. */
  #entry: number = ENTRY_DEFAULT;

  join(key: Key, weight: number): void {
    if (!this.#parties.has(key)) this.#parties.set(key, { weight, served: 0, at: instant(0), running: 0, queued: 0 });
  }

  leave(key: Key): void {
    this.#parties.delete(key);
  }

  /** One more task waits. Who comes back after having had nothing to do starts where the others are: no hoarded credit. */
  queue(key: Key, now: Instant): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    if (party.queued === 0 && party.running === 0) party.served = Math.max(party.served, this.#least(now, key));
    this.#meter(party, now);
    party.queued++;
  }

  unqueue(key: Key): void {
    const party = this.#parties.get(key);
    if (party !== undefined) party.queued--;
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
    party.running -= share;
    if (ran > 0) this.#entry += (ran - this.#entry) / 16;
  }

  /** The one who is furthest behind goes first. */
  behind(key: Key, now: Instant): number {
    const party = this.#parties.get(key);
    return party === undefined ? 0 : this.#position(party, now);
  }

  #position({ served, at, running, weight }: Party, now: Instant): number {
    return served + (running * (Math.max(0, now - at) + this.#entry)) / weight;
  }

  #meter(party: Party, now: Instant): void {
    party.served += (party.running * Math.max(0, now - party.at)) / party.weight;
    party.at = now;
  }

  #least(now: Instant, except: Key): number {
    let least = Number.POSITIVE_INFINITY;
    for (const [key, party] of this.#parties) {
      if (key === except || (party.queued === 0 && party.running === 0)) continue;
      this.#meter(party, now);
      least = Math.min(least, party.served);
    }
    return least === Number.POSITIVE_INFINITY ? 0 : least;
  }
}

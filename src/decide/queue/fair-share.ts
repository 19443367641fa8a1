/**
 * How much service each party (a run or a tenant) has had, so that parties share by weight. The measure is resource-seconds of the dominant
 * resource, metered while tasks run: counting dispatches is fair only when all tasks are alike.
 */
import { type Instant, instant, type Millis } from "../../domain/time.ts";
import { Heap, type Placed } from "../../std/heap.ts";
import { invariant } from "../../std/invariant.ts";

interface Party<Key> extends Placed {
  readonly key: Key;
  /** Among equal parties the lower number goes first. */
  readonly order: number;
  readonly weight: number;
  /** Weighted service received up to `at`. */
  served: number;
  at: Instant;
  /** How many of its tasks run, and the sum of their dominant shares. */
  out: number;
  running: number;
  queued: number;
}

/** Until a task has ended, tasks are taken to be this long. */
const ENTRY_DEFAULT = 1_000 as Millis;
/** How many ended tasks the mean length looks back on. */
const ENTRY_MEMORY = 16;

/** The party that has had less goes first; among equals, the lower number. */
const isAhead = (position: number, order: number, other: number, otherOrder: number): boolean =>
  position !== other ? position < other : order < otherOrder;

export class FairShare<Key> {
  readonly #parties = new Map<Key, Party<Key>>();
  /** Parties with waiting tasks and no running one: their position does not change with time, so they are kept in order. */
  readonly #resting = new Heap<Party<Key>>((a, b) => isAhead(a.served, a.order, b.served, b.order));
  /** Parties with running tasks: their position changes with time, and there are never more of them than workers. */
  readonly #working = new Set<Party<Key>>();
  /**
   * Mean length of the tasks that have ended. A running task is charged for this much in advance, so that the slots that are free at one
   * moment go to several parties and not all to the party that is furthest behind.
   */
  #entry: number = ENTRY_DEFAULT;
  /** The position of the parties that had work last: a party that begins when no other is there starts from it. */
  #last = 0;
  #queued = 0;

  /** How many tasks wait, of all parties. */
  get queued(): number {
    return this.#queued;
  }

  join(key: Key, weight: number, order: number): void {
    if (this.#parties.has(key)) return;
    const at = instant(0);
    this.#parties.set(key, { key, order, weight, served: 0, at, out: 0, running: 0, queued: 0, place: -1 });
  }

  /** To be called when no task of the party waits or runs any more. */
  leave(key: Key): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    invariant(party.queued === 0 && party.out === 0, "a party that leaves has no task that waits or runs");
    this.#remember(party);
    this.#parties.delete(key);
  }

  /** One more task waits. A party that had no waiting task starts no further behind than the others are: credit is not hoarded. */
  queue(key: Key, now: Instant): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    this.#meter(party, now);
    if (party.queued === 0) party.served += Math.max(0, this.#level(party, now) - this.#position(party, now));
    party.queued++;
    this.#queued++;
    if (party.queued === 1) this.#file(party);
  }

  unqueue(key: Key): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    party.queued--;
    this.#queued--;
    if (party.queued === 0) this.#file(party);
    this.#remember(party);
  }

  start(key: Key, share: number, now: Instant): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    this.#meter(party, now);
    party.out++;
    party.running += share;
    if (party.out === 1) this.#file(party);
  }

  end(key: Key, share: number, ran: Millis, now: Instant): void {
    const party = this.#parties.get(key);
    if (party === undefined) return;
    this.#meter(party, now);
    party.out = Math.max(0, party.out - 1);
    // The rest that adding and subtracting fractions leaves belongs to no party.
    party.running = party.out === 0 ? 0 : Math.max(0, party.running - share);
    if (party.out === 0) this.#file(party);
    this.#remember(party);
    if (ran > 0) this.#entry += (ran - this.#entry) / ENTRY_MEMORY;
  }

  /** The parties with waiting tasks, the one furthest behind first. Nothing may change while the caller reads. */
  *order(now: Instant): Iterable<Key> {
    const working = [...this.#working]
      .filter(({ queued }) => queued > 0)
      .map((party) => ({ party, position: this.#position(party, now) }))
      .sort((a, b) => a.position - b.position || a.party.order - b.party.order);
    let next = 0;
    for (const party of this.#resting.ascending()) {
      for (let ahead = working[next]; ahead !== undefined; ahead = working[++next]) {
        if (!isAhead(ahead.position, ahead.party.order, party.served, party.order)) break;
        yield ahead.party.key;
      }
      yield party.key;
    }
    for (const { party } of working.slice(next)) yield party.key;
  }

  /** Whether the party would still be behind the other after one more task of this share. */
  isOwed(key: Key, other: Key, share: number, now: Instant): boolean {
    const [party, favoured] = [this.#parties.get(key), this.#parties.get(other)];
    if (party === undefined || favoured === undefined) return false;
    return this.#position(party, now) + (share * this.#entry) / party.weight <= this.#position(favoured, now);
  }

  /** It was the party's turn and it could not use it: it is no further behind than the party that goes instead. */
  forfeit(key: Key, other: Key, now: Instant): void {
    const [party, favoured] = [this.#parties.get(key), this.#parties.get(other)];
    if (party === undefined || favoured === undefined) return;
    this.#meter(party, now);
    party.served += Math.max(0, this.#position(favoured, now) - this.#position(party, now));
    this.#file(party);
  }

  #position({ served, at, running, weight }: Party<Key>, now: Instant): number {
    return served + (running * (Math.max(0, now - at) + this.#entry)) / weight;
  }

  #meter(party: Party<Key>, now: Instant): void {
    if (now <= party.at) return;
    party.served += (party.running * (now - party.at)) / party.weight;
    party.at = now;
  }

  /** Puts the party into the set that its tasks ask for. */
  #file(party: Party<Key>): void {
    this.#resting.remove(party);
    if (party.out > 0) this.#working.add(party);
    else this.#working.delete(party);
    if (party.out === 0 && party.queued > 0) this.#resting.push(party);
  }

  #remember({ queued, out, served }: Party<Key>): void {
    if (queued === 0 && out === 0) this.#last = Math.max(this.#last, served);
  }

  /** The position of the others: the furthest behind of those with waiting tasks, else with running tasks, else of the last ones. */
  #level(except: Party<Key>, now: Instant): number {
    let waiting = this.#resting.peek()?.served ?? Number.POSITIVE_INFINITY;
    let working = Number.POSITIVE_INFINITY;
    for (const party of this.#working) {
      if (party === except) continue;
      const position = this.#position(party, now);
      if (party.queued > 0) waiting = Math.min(waiting, position);
      else working = Math.min(working, position);
    }
    if (waiting < Number.POSITIVE_INFINITY) return waiting;
    return working < Number.POSITIVE_INFINITY ? working : this.#last;
  }
}

/** Time that passes only when nothing is left to do. The order of calls is fixed, so the history is. */
import { type Instant, instant, type Millis, millis } from "../domain/time.ts";
import { type Clock, promisesDrained, type Timer } from "../effects/clock.ts";
import { Heap } from "../std/heap.ts";

/** An alarm for this moment or later does not ring: it belongs to something that does not happen on virtual time. */
export const NEVER = instant(2 ** 52);

interface Alarm {
  readonly at: Instant;
  /** Alarms due at the same moment ring in the order they were set. */
  readonly order: number;
  readonly ring: () => void;
  place: number;
}

export class VirtualClock implements Clock {
  #now: Instant;
  #order = 0;
  #soon: (() => void)[] = [];
  readonly #alarms = new Heap<Alarm>((a, b) => (a.at === b.at ? a.order < b.order : a.at < b.at));

  constructor(start: Instant = instant(0)) {
    this.#now = start;
  }

  now(): Instant {
    return this.#now;
  }

  leapt(): Millis {
    return millis(0);
  }

  at(at: Instant, then: () => void): Timer {
    const alarm: Alarm = { at, order: this.#order++, ring: then, place: -1 };
    this.#alarms.push(alarm);
    return { cancel: () => this.#alarms.remove(alarm) };
  }

  soon(then: () => void): void {
    this.#soon.push(then);
  }

  /** Lets time pass until the promise is settled. Nothing when it never will be, because nothing more happens. */
  async passUntil<T>(promise: Promise<T>): Promise<T | undefined> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    await this.run(() => settled);
    return settled ? await promise : undefined;
  }

  /** Lets everything happen that can, moving time forward from one alarm to the next, until `done` says so or nothing is left. */
  async run(done: () => boolean): Promise<void> {
    await Promise.resolve();
    for (;;) {
      await this.#settle();
      if (done()) return;
      const next = this.#alarms.peek();
      if (next === undefined || next.at >= NEVER) return;
      this.#now = instant(Math.max(this.#now, next.at));
      // Alarms that are due at the same moment ring together: nothing is decided in between.
      for (let due = this.#alarms.peek(); due !== undefined && due.at <= this.#now; due = this.#alarms.peek()) {
        this.#alarms.pop();
        due.ring();
      }
    }
  }

  /** Runs what `soon` was given, and every promise that follows from it. */
  async #settle(): Promise<void> {
    await promisesDrained();
    while (this.#soon.length > 0) {
      const soon = this.#soon;
      this.#soon = [];
      for (const call of soon) call();
      await promisesDrained();
    }
  }
}

/** Time that passes only when a test says so. */
import { type Instant, instant, later, type Millis, millis } from "../../src/domain/time.ts";
import type { Clock, Timer } from "../../src/effects/clock.ts";

interface Alarm {
  readonly at: Instant;
  readonly order: number;
  readonly ring: () => void;
}

export const START = instant(1_000_000);

export class ManualClock implements Clock {
  #now: Instant;
  #leapt = 0;
  #order = 0;
  #soon: (() => void)[] = [];
  readonly #alarms = new Set<Alarm>();

  constructor(start: Instant = START) {
    this.#now = start;
  }

  now(): Instant {
    return this.#now;
  }

  leapt(): Millis {
    return millis(this.#leapt);
  }

  at(at: Instant, then: () => void): Timer {
    const alarm: Alarm = { at, order: this.#order++, ring: then };
    this.#alarms.add(alarm);
    return { cancel: () => void this.#alarms.delete(alarm) };
  }

  soon(then: () => void): void {
    this.#soon.push(then);
  }

  /** The moments something waits for, earliest first. */
  get waiting(): readonly Instant[] {
    return [...this.#alarms].sort(inOrder).map(({ at }) => at);
  }

  /** Time passes: whatever falls due rings at its moment, in order, and everything that follows from it happens before the next. */
  async advance(span: number): Promise<void> {
    const end = later(this.#now, millis(span));
    await this.settle();
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#alarms.delete(next);
      this.#now = instant(Math.max(this.#now, next.at));
      next.ring();
      await this.settle();
    }
    this.#now = end;
    await this.settle();
  }

  /** The machine sleeps: time has passed when anything that was due meanwhile rings. */
  async sleep(span: Millis): Promise<void> {
    this.#now = later(this.#now, span);
    await this.advance(0);
  }

  /** The machine's clock is set forward: no time has passed. */
  async setForward(span: Millis): Promise<void> {
    this.#leapt += span;
    await this.sleep(span);
  }

  /** The next scheduler has a clock that is behind. */
  setBack(span: Millis): void {
    this.#now = later(this.#now, millis(0 - span));
  }

  /** Time passes because something takes so long. */
  spend(span: Millis): void {
    this.#now = later(this.#now, span);
  }

  /** Runs what was asked to run soon and every promise that follows from it, until nothing is left. No time passes. */
  async settle(): Promise<void> {
    await drainPromises();
    while (this.#soon.length > 0) {
      const soon = this.#soon;
      this.#soon = [];
      for (const call of soon) call();
      await drainPromises();
    }
  }

  #next(): Alarm | undefined {
    let first: Alarm | undefined;
    for (const alarm of this.#alarms) if (first === undefined || inOrder(alarm, first) < 0) first = alarm;
    return first;
  }
}

const inOrder = (a: Alarm, b: Alarm): number => a.at - b.at || a.order - b.order;

/** Every promise that can go on does so before the platform turns to the next thing. */
const drainPromises = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

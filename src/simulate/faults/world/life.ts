/** A process that can be stopped for a while, and killed. Everything that reaches it comes through here; what comes after its end is lost. */
import { type Instant, instant, later, type Millis, millis } from "../../../domain/time.ts";
import type { Clock, Timer } from "../../../effects/clock.ts";
import type { VirtualClock } from "../../clock.ts";

export class Life {
  #state: "alive" | "frozen" | "ended" = "alive";
  #waiting: (() => void)[] = [];

  get isAlive(): boolean {
    return this.#state !== "ended";
  }

  get isFrozen(): boolean {
    return this.#state === "frozen";
  }

  /** Calls `act` now, or when the process goes on, or never. */
  enter(act: () => void): void {
    if (this.#state === "alive") act();
    else if (this.#state === "frozen") this.#waiting.push(act);
  }

  /** Settles when the promise has and the process can go on; never when the process has ended. */
  async pass<T>(promise: Promise<T>): Promise<T> {
    const passed = Promise.withResolvers<T>();
    promise.then(
      (value) => this.enter(() => passed.resolve(value)),
      (error: unknown) => this.enter(() => passed.reject(error)),
    );
    return passed.promise;
  }

  freeze(): void {
    if (this.#state === "alive") this.#state = "frozen";
  }

  thaw(): void {
    if (this.#state !== "frozen") return;
    this.#state = "alive";
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const act of waiting) this.enter(act);
  }

  end(): void {
    this.#state = "ended";
    this.#waiting = [];
  }
}

/** How the clock of a process differs from the true time. */
export interface Pace {
  readonly offset?: number;
  readonly rate?: number;
}

/**
 * The time as a process sees it: its clock runs a little too fast or too slow, and can be set forward. As on a real machine that moves no
 * timer that is set already, and the process never sees its clock go back.
 */
export class OwnClock implements Clock {
  readonly #truth: VirtualClock;
  readonly #life: Life;
  readonly #rate: number;
  #offset: number;
  #leapt = 0;
  readonly #origin: Instant;

  constructor(truth: VirtualClock, life: Life, { offset = 0, rate = 1 }: Pace = {}) {
    this.#truth = truth;
    this.#life = life;
    this.#rate = rate;
    this.#offset = offset;
    this.#origin = truth.now();
  }

  now(): Instant {
    const truth = this.#truth.now();
    return instant(this.#origin + this.#offset + Math.floor((truth - this.#origin) * this.#rate));
  }

  leapt(): Millis {
    return millis(this.#leapt);
  }

  /** How far the clock is ahead of the true time. */
  get ahead(): number {
    return this.now() - this.#truth.now();
  }

  at(at: Instant, then: () => void): Timer {
    let timer: Timer;
    const ring = (): void => this.#life.enter(() => (this.now() < at ? arm() : then()));
    const arm = (): void => {
      const delay = Math.max(0, Math.ceil((at - this.now()) / this.#rate));
      timer = this.#truth.at(later(this.#truth.now(), millis(delay)), ring);
    };
    arm();
    return { cancel: () => timer.cancel() };
  }

  soon(then: () => void): void {
    this.#truth.soon(() => this.#life.enter(then));
  }

  jump(by: Millis): void {
    this.#offset += by;
    this.#leapt += by;
  }
}

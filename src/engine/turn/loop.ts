/** When the next turn is taken: as soon as an input has come, or when the next deadline is due. Never two at a time. */
import type { Instant } from "../../domain/time.ts";
import type { Clock, Timer } from "../../effects/clock.ts";

export interface LoopDeps {
  readonly clock: Clock;
  readonly turn: (now: Instant) => void;
  /** Whether there is an input that no turn has seen. */
  readonly pending: () => boolean;
  /** The next moment at which something is due, if any. */
  readonly nextWake: (now: Instant) => Instant | undefined;
  /** A turn has failed. No other is taken. */
  readonly failed: (error: unknown) => void;
}

export class Loop {
  readonly #deps: LoopDeps;
  #timer: { readonly at: Instant; readonly timer: Timer } | undefined;
  #scheduled = false;
  #turning = false;
  #closed = false;

  constructor(deps: LoopDeps) {
    this.#deps = deps;
  }

  /** An input has come. */
  schedule(): void {
    if (this.#scheduled || this.#turning || this.#closed) return;
    this.#scheduled = true;
    this.#deps.clock.soon(() => {
      this.#scheduled = false;
      this.#turn();
    });
  }

  close(): void {
    this.#closed = true;
    this.#timer?.timer.cancel();
  }

  #turn(): void {
    if (this.#turning || this.#closed) return;
    this.#turning = true;
    this.#guarded(() => this.#deps.turn(this.#deps.clock.now()));
    this.#turning = false;
    if (this.#closed) return;
    if (this.#deps.pending()) this.schedule();
    else this.#sleep();
  }

  #guarded(what: () => void): void {
    try {
      what();
    } catch (error) {
      this.close();
      this.#deps.failed(error);
    }
  }

  #sleep(): void {
    const { clock, nextWake } = this.#deps;
    const at = nextWake(clock.now());
    if (at === this.#timer?.at) return;
    this.#timer?.timer.cancel();
    this.#timer = at === undefined ? undefined : { at, timer: clock.at(at, () => this.#wake()) };
  }

  #wake(): void {
    this.#timer = undefined;
    this.schedule();
  }
}

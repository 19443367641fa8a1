/** Finds processes that left their attempt's group, by the marks in their environment. Looking costs milliseconds, so looks are shared. */
import { later, type Millis, millis } from "../../domain/time.ts";
import { type Clock, sleep, type Timer } from "../../effects/clock.ts";
import { endProcesses } from "./ending.ts";
import { type Sighting, sight } from "./marks.ts";

/** Of a processor, at most a twentieth goes into looking. */
const REST_FACTOR = 20;
const REST_MIN_MS = 5;
const SWEEP_EVERY = millis(1_000);

export class Strays {
  readonly #stateId: string;
  readonly #clock: Clock;
  readonly #grace: Millis;
  #next: Promise<Sighting> | undefined;
  #restUntil = 0;
  /** Attempts that ended too quickly to be worth a look of their own. */
  #unswept = new Set<string>();
  #timer: Timer | undefined;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(stateId: string, clock: Clock, grace: Millis) {
    this.#stateId = stateId;
    this.#clock = clock;
    this.#grace = grace;
  }

  /** What a look that begins after this call finds; every call before it begins gets the same. */
  look(): Promise<Sighting> {
    this.#next ??= this.#rested().then(() => {
      this.#next = undefined;
      const from = this.#clock.now();
      const seen = sight(this.#stateId);
      const cost = this.#clock.now() - from;
      this.#restUntil = this.#clock.now() + Math.max(REST_MIN_MS, cost * REST_FACTOR);
      return seen;
    });
    return this.#next;
  }

  /** Not even for a moment where none is due: the end of every run waits for this. */
  async #rested(): Promise<void> {
    const rest = this.#restUntil - this.#clock.now();
    if (rest > 0) await sleep(this.#clock, millis(rest));
  }

  /** Has the strays of an attempt that ended looked for within a second or so. */
  later(key: string): void {
    this.#unswept.add(key);
    this.#timer ??= this.#clock.at(later(this.#clock.now(), SWEEP_EVERY), () => void this.sweep());
  }

  /** Ends the strays of every attempt noted by `later`. */
  sweep(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = undefined;
    const keys = this.#unswept;
    this.#unswept = new Set();
    if (keys.size > 0) this.#sweeping = Promise.all([this.#sweeping, this.#end(keys)]).then(() => {});
    return this.#sweeping;
  }

  /** Leaves them to another scheduler. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #end(keys: ReadonlySet<string>): Promise<void> {
    const killAt = later(this.#clock.now(), this.#grace);
    return endProcesses({
      find: async () => {
        const seen = await this.look();
        return { groups: [], pids: [...keys].flatMap((key) => seen.get(key) ?? []) };
      },
      killAt: () => killAt,
      now: () => this.#clock.now(),
      pause: (ms) => sleep(this.#clock, millis(ms)),
    });
  }
}

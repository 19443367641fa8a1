/** Finds processes that left their attempt's group, by the marks in their environment. Looking costs milliseconds, so looks are shared. */
import { ticks } from "../../../effects/ticks.ts";
import { endProcesses } from "../ending.ts";
import { type Sighting, sight } from "../marks.ts";

/** Of a processor, at most a twentieth goes into looking. */
const REST_FACTOR = 20;
const REST_MIN_MS = 5;
const SWEEP_EVERY_MS = 1_000;

export class Strays {
  readonly #stateId: string;
  readonly #graceMs: () => number;
  #next: Promise<Sighting> | undefined;
  #restUntil = 0;
  /** Attempts that ended too quickly to be worth a look of their own. */
  #unswept = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(stateId: string, graceMs: () => number) {
    this.#stateId = stateId;
    this.#graceMs = graceMs;
  }

  /** What a look that begins after this call finds; every call before it begins gets the same. */
  look(): Promise<Sighting> {
    this.#next ??= this.#rested().then(() => {
      this.#next = undefined;
      const from = ticks();
      const seen = sight(this.#stateId);
      const cost = ticks() - from;
      this.#restUntil = ticks() + Math.max(REST_MIN_MS, cost * REST_FACTOR);
      return seen;
    });
    return this.#next;
  }

  /** Not even for a moment where none is due: the end of every run waits for this. */
  async #rested(): Promise<void> {
    const rest = this.#restUntil - ticks();
    if (rest > 0) await pause(rest);
  }

  /** Has the strays of an attempt that ended looked for within a second or so. */
  later(key: string): void {
    this.#unswept.add(key);
    this.#timer ??= setTimeout(() => void this.sweep(), SWEEP_EVERY_MS);
  }

  /** Ends the strays of every attempt noted by `later`. */
  sweep(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const keys = this.#unswept;
    this.#unswept = new Set();
    if (keys.size > 0) this.#sweeping = Promise.all([this.#sweeping, this.#end(keys)]).then(() => {});
    return this.#sweeping;
  }

  #end(keys: ReadonlySet<string>): Promise<void> {
    const killAt = ticks() + this.#graceMs();
    return endProcesses({
      find: async () => {
        const seen = await this.look();
        return { groups: [], pids: [...keys].flatMap((key) => seen.get(key) ?? []) };
      },
      killAt: () => killAt,
      now: () => ticks(),
      pause,
    });
  }
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, Math.max(0, ms)));

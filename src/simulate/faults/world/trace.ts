/** Everything that happens in a simulation, line by line: always hashed, and kept only when it is to be read. */
import { createHash, type Hash } from "node:crypto";
import type { VirtualClock } from "../../clock.ts";

export class Trace {
  readonly #hash: Hash = createHash("sha256");
  readonly #clock: VirtualClock;
  readonly #start: number;
  readonly #kept: string[] | undefined;
  #pending = "";

  constructor(clock: VirtualClock, keeps: boolean) {
    this.#clock = clock;
    this.#start = clock.now();
    this.#kept = keeps ? [] : undefined;
  }

  add(line: string): void {
    const timed = `${((this.#clock.now() - this.#start) / 1_000).toFixed(3)} ${line}`;
    this.#kept?.push(timed);
    this.#pending += `${timed}\n`;
    if (this.#pending.length > 65_536) this.#flush();
  }

  get lines(): readonly string[] {
    return this.#kept ?? [];
  }

  /** To be called once, at the end. */
  digest(): string {
    this.#flush();
    return this.#hash.digest("hex");
  }

  #flush(): void {
    this.#hash.update(this.#pending);
    this.#pending = "";
  }
}

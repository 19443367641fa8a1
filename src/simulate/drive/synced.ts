/** What of the files is certainly on the disk, by what was synced. */
import { existsSync, readFileSync } from "node:fs";

const NONE = Buffer.alloc(0);

export class Synced {
  readonly #path: string;
  /** The log as it was when it was last synced; as it is, when nothing is said. */
  #log: Buffer | undefined;
  /** How often all of it was, so that a sync which ends later does not count for less. */
  #times = 0;
  /** The mark beside the log, as it was saved. */
  mark: Buffer = NONE;
  /** The last event that is on the disk. */
  atLeast = 0;

  constructor(file: string) {
    this.#path = `${file}-wal`;
  }

  /** `now`: the log as it is. */
  log(now: Buffer): Buffer {
    return this.#log ?? now;
  }

  /** Something is going to be written that need not be on the disk when it is answered. */
  beginsToLag(): void {
    this.#log ??= this.#read();
  }

  /** All there is, up to this event. */
  all(lastSeq: number): void {
    this.#log = undefined;
    this.#times++;
    this.atLeast = lastSeq;
  }

  /** A sync begins: what is there now is on the disk when it is told that it has ended. */
  begin(lastSeq: number): () => void {
    const [log, times] = [this.#read(), this.#times];
    return () => {
      if (times !== this.#times || this.#log === undefined) return;
      this.#log = log;
      this.atLeast = Math.max(this.atLeast, lastSeq);
    };
  }

  #read(): Buffer {
    return existsSync(this.#path) ? readFileSync(this.#path) : NONE;
  }
}

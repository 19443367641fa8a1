/** Which content of the files is certainly on the disk, by what was synced. */
import { existsSync, readFileSync } from "node:fs";

const NONE = Buffer.alloc(0);

export class Synced {
  readonly #path: string;
  /** The log at its last sync; absent while all of it is on the disk. */
  #log: Buffer | undefined;
  /** How often all of it was synced, so that an older sync that ends later does not replace that. */
  #times = 0;
  /** The mark beside the log, as it was saved. */
  mark: Buffer = NONE;
  /** The last event that is on the disk. */
  atLeast = 0;

  constructor(file: string) {
    this.#path = `${file}-wal`;
  }

  /** `now`: the log as it is in the file. */
  log(now: Buffer): Buffer {
    return this.#log ?? now;
  }

  /** From now on commits may be answered before they are on the disk. */
  beginsToLag(): void {
    this.#log ??= this.#read();
  }

  /** Everything up to this event is on the disk. */
  all(lastSeq: number): void {
    this.#log = undefined;
    this.#times++;
    this.atLeast = lastSeq;
  }

  /** A sync begins: what is there now is on the disk when the returned function is called. */
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

/** Brings what turns have decided to the store, one batch after the other, and tells everybody concerned once it is durable. */
import { UserError } from "../domain/errors.ts";
import type { Epoch, Store } from "../store/store.ts";
import type { Journal } from "./journal.ts";
import type { Outbox } from "./outbox.ts";

export interface RecorderDeps {
  readonly store: Pick<Store, "commit">;
  readonly epoch: Epoch;
  readonly journal: Journal;
  readonly outbox: Outbox;
  /** A batch is durable, and everybody was told. */
  readonly done: () => void;
  /** The store can no longer be trusted. */
  readonly failed: (error: unknown) => void;
}

export class Recorder {
  readonly #deps: RecorderDeps;
  #busy = false;
  #writing = false;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
  }

  /** What was written last is not durable yet, or not everybody was told. What is decided meanwhile is the next batch. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Whether everything that was decided is durable. */
  get settled(): boolean {
    return !this.#writing && this.#deps.journal.empty;
  }

  /** Takes everything there is so far. To be called when it is not busy. */
  write(): void {
    this.#busy = true;
    this.#record().then(() => this.#rest(), this.#deps.failed);
  }

  async #record(): Promise<void> {
    const { journal } = this.#deps;
    for (let batch: Handed | undefined = this.#handOver(); batch !== undefined; ) {
      const { committed, tell } = batch;
      const result = await committed;
      this.#writing = false;
      if (result?.ok === false)
        throw new UserError("STATE_BUSY", "Another scheduler has taken this state directory over");
      // The store goes on with what was decided meanwhile before anybody hears of this: that takes as long again.
      batch = journal.urgent ? this.#handOver() : undefined;
      await tell();
    }
  }

  #rest(): void {
    this.#busy = false;
    this.#deps.done();
  }

  #handOver(): Handed {
    const { store, epoch, journal, outbox } = this.#deps;
    const send = outbox.seal();
    const batch = journal.empty ? undefined : journal.take(epoch);
    this.#writing = batch !== undefined;
    const committed = batch && store.commit(batch);
    // Whether it failed is looked at when its turn has come, which may be later than it is known.
    committed?.catch(() => {});
    return { committed, tell: () => send(batch?.events) };
  }
}

/** A batch that the store has been given. */
interface Handed {
  readonly committed: ReturnType<Store["commit"]> | undefined;
  readonly tell: () => Promise<void>;
}

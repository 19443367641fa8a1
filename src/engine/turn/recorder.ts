/** Writes the decisions of turns to the store, one batch after the other, and tells callers and listeners when they are durable. */
import { UserError } from "../../domain/errors.ts";
import type { Clock } from "../../effects/clock.ts";
import type { Epoch, Store } from "../../store/store.ts";
import type { Outbox } from "./outbox.ts";
import type { PendingBatch } from "./pending-batch.ts";

export interface RecorderDeps {
  readonly store: Pick<Store, "commit" | "maintain">;
  readonly epoch: Epoch;
  readonly pending: PendingBatch;
  readonly outbox: Outbox;
  readonly clock: Pick<Clock, "soon">;
  /** How many tasks are enough for a batch, while another one is being written. */
  readonly batchMax: number;
  /** Every batch that was handed over is durable, and all callers were told. */
  readonly done: () => void;
  /** The store can no longer be trusted. */
  readonly failed: (error: unknown) => void;
}

/** A batch that the store has. */
interface Handed {
  readonly committed: ReturnType<Store["commit"]> | undefined;
  readonly tell: () => void;
}

/** How many batches the store has at most: the batch that it writes, and the next one. */
export const UNWRITTEN_MAX = 2;

export class Recorder {
  readonly #deps: RecorderDeps;
  /** Batches that are not durable yet, or whose callers were not all told. */
  readonly #handed: Handed[] = [];
  #unwritten = 0;
  /** Resolves when every batch is dealt with, or has failed. */
  #following: Promise<void> | undefined;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
  }

  /** Whether everything that was decided is durable. */
  get settled(): boolean {
    return this.#unwritten === 0 && this.#deps.pending.empty;
  }

  /** Whether the store has as many batches as it should. */
  get isFull(): boolean {
    return this.#isLong && this.#unwritten >= UNWRITTEN_MAX;
  }

  /** Takes everything there is so far, unless it should grow while the store is at work. */
  write(): void {
    if (this.#handed.length === 0) this.#begin();
    else if (this.#isLong && this.#unwritten < UNWRITTEN_MAX) this.#handOver();
  }

  get #isLong(): boolean {
    return this.#deps.pending.size >= this.#deps.batchMax;
  }

  /** Writes the events that no caller waits for, too. To be called when no more turns are taken. */
  async finish(): Promise<void> {
    await this.#following;
    const { pending } = this.#deps;
    if (pending.empty || pending.urgent || this.#handed.length > 0) return;
    this.#begin();
    await this.#following;
  }

  #begin(): void {
    this.#handOver();
    this.#following = this.#follow().then(this.#deps.done, this.#deps.failed);
  }

  /** Tells the callers of one batch after the other, in the order in which the batches were handed over. */
  async #follow(): Promise<void> {
    const { pending, clock, store } = this.#deps;
    for (let next = this.#handed[0]; next !== undefined; next = this.#handed[0]) {
      const result = await next.committed;
      if (result?.ok === false)
        throw new UserError("STATE_BUSY", "Another scheduler has taken this state directory over");
      if (next.committed !== undefined) this.#unwritten--;
      // The store goes on with the next decisions before callers hear of this batch: telling them takes as long again.
      if (pending.urgent && (this.#unwritten === 0 || this.#isLong)) this.#handOver();
      next.tell();
      this.#handed.shift();
      // After the callers have had a chance to react.
      clock.soon(() => store.maintain());
    }
  }

  #handOver(): void {
    const { store, epoch, pending, outbox } = this.#deps;
    const send = outbox.seal();
    const batch = pending.empty ? undefined : pending.take(epoch);
    const committed = batch && store.commit(batch);
    // An error is looked at when its batch has its turn, which may be later.
    committed?.catch(() => {});
    if (committed !== undefined) this.#unwritten++;
    this.#handed.push({ committed, tell: () => send(batch?.events) });
  }
}

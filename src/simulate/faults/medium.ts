/** What a disk is made of: a store that is one of the real ones, and what is left of it when its writer dies or the power goes. */
import type { Instant } from "../../domain/time.ts";
import type { Clock } from "../../effects/clock.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { Batch, Owner, Store } from "../../store/store.ts";
import type { Chance } from "./chance.ts";
import type { Life } from "./life.ts";

/** Not a fault of the program: whoever gets this is expected to stop. */
export class DiskError extends Error {
  override readonly name = "DiskError";
}

/** A process that has the store open. */
export interface Opener {
  readonly life: Life;
  readonly clock: Pick<Clock, "at"> & { now(): Instant };
  /** How it judges of the owner on record. */
  readonly lives: (owner: Owner) => boolean;
}

export interface Medium extends Disposable {
  /** Asks the store as this process has it, perhaps to change something. */
  ask<T>(by: Opener, verb: (store: Store) => Promise<T>, changes?: boolean): Promise<T>;
  /** `isThere` is called in the moment in which the store has the batch. `fails`: the disk does, on the way there or right after it. */
  commit(by: Opener, batch: Batch, isThere: () => void, fails?: Chance): ReturnType<Store["commit"]>;
  /** While it is full, nothing is written. */
  full: boolean;
  /** The process ends, in the middle of writing this batch where one is given. */
  end(by: Opener, writing?: Batch, isThere?: () => void): void;
  /** All processes end with the power, one of them perhaps in the middle of writing. */
  cut(writing?: { readonly by: Opener; readonly batch: Batch }, isThere?: () => void): void;
  /** What was answered may be gone after a power cut, so that nobody can go on as if it were not. */
  readonly mayForget: boolean;
  /** What is wrong with what a power cut has left, as sentences. */
  remains(): Promise<readonly string[]>;
  /** Looks at the store when no process has it. */
  look<T>(verb: (store: Store) => Promise<T>): Promise<T>;
}

/** All that was given to it is there, whatever happens. */
export class MemoryMedium implements Medium {
  /** How the process that asks for the store judges of the one that has it. */
  #judge: (owner: Owner) => boolean = () => false;
  readonly #store: Store = openMemoryStore({ lives: (owner) => this.#judge(owner) });
  readonly mayForget = false;
  full = false;

  async ask<T>({ lives }: Opener, verb: (store: Store) => Promise<T>, changes = false): Promise<T> {
    if (changes && this.full) throw new DiskError("ENOSPC");
    this.#judge = lives;
    return verb(this.#store);
  }

  async commit(_by: Opener, batch: Batch, isThere: () => void, fails?: Chance): ReturnType<Store["commit"]> {
    if (this.full) throw new DiskError("ENOSPC");
    if (fails?.flip(0.5) === true) throw new DiskError("EIO");
    const committed = await this.#store.commit(batch);
    if (!committed.ok) return committed;
    isThere();
    if (fails !== undefined) throw new DiskError("EIO, although it was written");
    return committed;
  }

  end(by: Opener, writing?: Batch, isThere: () => void = () => {}): void {
    if (writing !== undefined) void this.commit(by, writing, isThere).catch(() => {});
  }

  cut(writing?: { readonly by: Opener; readonly batch: Batch }, isThere?: () => void): void {
    if (writing !== undefined) this.end(writing.by, writing.batch, isThere);
  }

  async remains(): Promise<readonly string[]> {
    return [];
  }

  look<T>(verb: (store: Store) => Promise<T>): Promise<T> {
    return verb(this.#store);
  }

  [Symbol.dispose](): void {}
}

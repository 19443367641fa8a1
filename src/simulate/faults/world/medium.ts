/** What a disk is made of: one of the real stores, and what remains of it after its writer dies or the power fails. */
import type { Instant } from "../../../domain/time.ts";
import type { Clock } from "../../../effects/clock.ts";
import { openMemoryStore } from "../../../store/memory/store.ts";
import type { Batch, Owner, Store } from "../../../store/store.ts";
import type { Chance } from "../seed/chance.ts";
import type { Life } from "./life.ts";

/** Not a fault of the program: a process that gets this error is expected to stop. */
export class DiskError extends Error {
  override readonly name = "DiskError";
}

/** A process that has the store open. */
export interface Opener {
  readonly life: Life;
  readonly clock: Pick<Clock, "at"> & { now(): Instant };
  /** Its judgement whether the owner on record lives. */
  readonly lives: (owner: Owner) => boolean;
}

export interface Medium extends Disposable {
  /** Asks the store as this process has it, perhaps to change something. */
  ask<T>(by: Opener, verb: (store: Store) => Promise<T>, changes?: boolean): Promise<T>;
  /** `isThere` is called at the moment at which the store has the batch. `fails`: the disk fails, before that moment or right after it. */
  commit(by: Opener, batch: Batch, isThere: () => void, fails?: Chance): ReturnType<Store["commit"]>;
  /** While it is full, nothing is written. */
  full: boolean;
  /** The process ends, in the middle of writing this batch where one is given. */
  end(by: Opener, writing?: Batch, isThere?: () => void): void;
  /** All processes end with the power, one of them perhaps in the middle of writing. */
  cut(writing?: { readonly by: Opener; readonly batch: Batch }, isThere?: () => void): void;
  /** A power cut may take answered commits, so no scheduler can go on as if they were there. */
  readonly mayForget: boolean;
  /** What is wrong with the files after a power cut, in sentences. */
  remains(): Promise<readonly string[]>;
  /** Reads the store while no process has it. */
  look<T>(verb: (store: Store) => Promise<T>): Promise<T>;
}

/** Everything that was given to it is there, whatever happens. */
export class MemoryMedium implements Medium {
  /** The judgement of the asking process whether the owner lives. */
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

/** Stores with something in the way, so that a test can look between two moments that are usually one. */
import { err } from "../../src/std/result.ts";
import type { Aside } from "../../src/store/sqlite/connect.ts";
import type { Batch, Owner, Store } from "../../src/store/store.ts";

/** An empty store, in which the owner on record lives as it is said here; or does not, when nothing is said. */
export type OpenStore = (options?: { readonly lives: (owner: Owner) => boolean }) => Store | Promise<Store>;

/** Whatever is committed is committed by the thread. */
export const ALWAYS: Aside = { from: 1, atOnce: 1, after: 0 };

/** Commits wait until they are let through. */
export interface GatedStore extends Store {
  /** What waits to be committed. */
  readonly waiting: readonly Batch[];
  /** Lets what waits through, and everything after it. */
  open(): void;
  close(): void;
  /** From now on every commit ends like this. */
  break(how: Error | "ownership-lost"): void;
  /** The scheduler dies in this commit: before it was written, or after, but before any caller could know. */
  crashAt(commit: number, how: "lost" | "written"): void;
  /** What was committed, in order. */
  readonly committed: readonly Batch[];
}

export function gatedStore(store: Store): GatedStore {
  let gate: PromiseWithResolvers<void> | undefined;
  let broken: Error | "ownership-lost" | undefined;
  let crash: { readonly at: number; readonly how: "lost" | "written" } | undefined;
  let commits = 0;
  const waiting: Batch[] = [];
  const committed: Batch[] = [];
  return {
    ...store,
    waiting,
    committed,
    async commit(batch) {
      waiting.push(batch);
      await gate?.promise;
      waiting.splice(waiting.indexOf(batch), 1);
      if (broken === "ownership-lost") return err(broken);
      if (broken !== undefined) throw broken;
      const dies = ++commits === crash?.at;
      if (dies && crash?.how === "lost") throw new Error("crashed");
      const result = await store.commit(batch);
      if (dies) throw new Error("crashed");
      if (result.ok) committed.push(batch);
      return result;
    },
    open() {
      gate?.resolve();
      gate = undefined;
    },
    close() {
      gate ??= Promise.withResolvers();
    },
    break(how) {
      broken = how;
    },
    crashAt(at, how) {
      crash = { at, how };
    },
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

/**
 * The disk under the store's contract: writes take time, fail, or fail and were written all the same. What was acknowledged is kept
 * for ever; what was under way when its writer died is there as a whole or not at all.
 */
import type { Millis } from "../../domain/time.ts";
import { later, millis } from "../../domain/time.ts";
import { err } from "../../std/result.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { Batch, Owner, Store } from "../../store/store.ts";
import type { VirtualClock } from "../clock.ts";
import type { Chance } from "./chance.ts";
import type { Faults } from "./fault-kinds.ts";
import type { Life } from "./life.ts";

/** Not a fault of the program: whoever gets this is expected to stop. */
export class DiskError extends Error {
  override readonly name = "DiskError";
}

export interface DiskDeps {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly faults: Faults;
  /** Told of every batch that is on the disk, before anybody else hears of it. */
  readonly written: (batch: Batch) => void;
  /** Told how long a write has taken, once it is over. */
  readonly slow: (by: Millis) => void;
  readonly trace: (line: string) => void;
}

/** What a write comes to. */
type Fate = "written" | "refused" | "unknown";

const SLUGGISH_MAX = 15_000;

export class Disk {
  readonly #deps: DiskDeps;
  /** How the scheduler that asks for the store judges of the one that has it. */
  #judge: (owner: Owner) => boolean = () => false;
  readonly store: Store = openMemoryStore({ lives: (owner) => this.#judge(owner) });
  /** Usually how long a write takes. */
  readonly #pace: Millis;
  /** Of whoever has the store. */
  epoch = 0;
  #isFull = false;
  #isWell = false;

  constructor(deps: DiskDeps) {
    this.#deps = deps;
    this.#pace = millis(deps.chance.pick([0, 0, 1, 3]));
  }

  /** While it is full, nothing is written. */
  set full(isFull: boolean) {
    this.#isFull = isFull && !this.#isWell;
  }

  /** From now on nothing goes wrong. */
  heal(): void {
    this.#isWell = true;
    this.#isFull = false;
  }

  /** The store as one process has it, which takes the owner on record to live or not. */
  open(life: Life, lives: (owner: Owner) => boolean): Store {
    const { store } = this;
    const commit = this.#inOrder(life);
    return {
      acquire: (owner) => life.pass(this.#acquire(owner, lives)),
      renew: (term) => life.pass(store.renew(term)),
      release: (term) => life.pass(store.release(term)),
      owner: () => life.pass(store.owner()),
      commit: (batch) => life.pass(commit(batch)),
      tend: () => store.tend(),
      runs: (which) => life.pass(store.runs(which)),
      load: (run) => life.pass(store.load(run)),
      events: (query) => life.pass(store.events(query)),
      history: (plan) => life.pass(store.history(plan)),
      lastSeq: () => life.pass(store.lastSeq()),
      sessions: () => life.pass(store.sessions()),
      pauses: () => life.pass(store.pauses()),
      recall: (key) => life.pass(store.recall(key)),
      doneWith: (keys) => life.pass(store.doneWith(keys)),
      forget: (before) => life.pass(store.forget(before)),
      prune: (runs) => life.pass(store.prune(runs)),
      forgotten: () => life.pass(store.forgotten()),
      secret: (fresh) => life.pass(store.secret(fresh)),
      request: (request) => life.pass(this.#isFull ? Promise.reject(new DiskError("ENOSPC")) : store.request(request)),
      requests: () => life.pass(store.requests()),
      damage: () => life.pass(store.damage()),
      check: () => life.pass(store.check()),
      [Symbol.asyncDispose]: async () => {},
    };
  }

  async #acquire(owner: Owner, lives: (owner: Owner) => boolean): ReturnType<Store["acquire"]> {
    if (this.#isFull) throw new DiskError("ENOSPC");
    this.#judge = lives;
    const acquired = await this.store.acquire(owner);
    if (acquired.ok) this.epoch = acquired.value.epoch;
    return acquired;
  }

  /** In the order in which they are given, and none after one that was not written. */
  #inOrder(life: Life): Store["commit"] {
    let last: ReturnType<Store["commit"]> | undefined;
    return (batch) => {
      const before = last;
      last = (async () => {
        const earlier = await before;
        return earlier?.ok === false ? earlier : this.#commit(batch, life);
      })();
      return last;
    };
  }

  async #commit(batch: Batch, life: Life): Promise<Awaited<ReturnType<Store["commit"]>>> {
    const { chance, trace } = this.#deps;
    const fate = this.#fate();
    await this.#wait();
    // Its writer is dead: the kernel may have had all of it by then, or not.
    const isLost = !life.isAlive && chance.flip(0.5);
    if (isLost || fate === "refused" || (fate === "unknown" && chance.flip(0.5))) {
      trace(`disk: ${isLost ? "lost" : fate} ${batch.events.length}`);
      throw new DiskError(fate === "refused" ? "ENOSPC" : "EIO");
    }
    const committed = await this.store.commit(batch);
    if (!committed.ok) {
      trace(`disk: epoch ${batch.epoch} is over`);
      return err(committed.error);
    }
    this.#deps.written(batch);
    if (fate === "unknown") throw new DiskError("EIO, although it was written");
    return committed;
  }

  #fate(): Fate {
    const { chance, faults } = this.#deps;
    if (this.#isWell) return "written";
    if (this.#isFull) return "refused";
    return faults.fsync !== undefined && chance.flip(faults.fsync * 0.02) ? "unknown" : "written";
  }

  #wait(): Promise<void> {
    const { clock, chance, faults, slow } = this.#deps;
    const isSlow = !this.#isWell && faults.sluggish !== undefined && chance.flip(faults.sluggish * 0.1);
    const delay = isSlow ? chance.span(20, SLUGGISH_MAX) : this.#isWell ? millis(0) : this.#pace;
    if (delay === 0) return Promise.resolve();
    return new Promise((resolve) => {
      clock.at(later(clock.now(), delay), () => {
        slow(delay);
        resolve();
      });
    });
  }
}

/**
 * The disk under the store's contract: writes take time, fail, or fail after they were written. What was acknowledged is kept
 * for ever; a batch that was being written when its writer died is there as a whole or not at all.
 */
import type { Millis } from "../../../domain/time.ts";
import { later, millis } from "../../../domain/time.ts";
import { err } from "../../../std/result.ts";
import type { Batch, Owner, Store } from "../../../store/store.ts";
import type { VirtualClock } from "../../clock.ts";
import type { Chance } from "../seed/chance.ts";
import type { Faults } from "../seed/fault-kinds.ts";
import type { Life } from "./life.ts";
import { DiskError, type Medium, type Opener } from "./medium.ts";

export interface DiskDeps {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  readonly faults: Faults;
  readonly medium: Medium;
  /** Told of every batch that is on the disk, before any other part hears of it. */
  readonly written: (batch: Batch) => void;
  /** Told how long a write has taken, once it is over. */
  readonly slow: (by: Millis) => void;
  readonly trace: (line: string) => void;
}

const SLUGGISH_MAX = 15_000;

export class Disk {
  readonly #deps: DiskDeps;
  /** How long a write usually takes. */
  readonly #pace: Millis;
  /** The batches that each process has given and that are not written yet, in order. */
  readonly #underWay = new Map<Life, { readonly by: Opener; readonly batches: Batch[] }>();
  /** The epoch of the scheduler that has the store. */
  epoch = 0;
  #amidst: (() => void) | undefined;
  #isWell = false;

  constructor(deps: DiskDeps) {
    this.#deps = deps;
    this.#pace = millis(deps.chance.pick([0, 0, 1, 3]));
  }

  /** While it is full, nothing is written. */
  set full(isFull: boolean) {
    this.#deps.medium.full = isFull && !this.#isWell;
  }

  /** From now on nothing fails. */
  heal(): void {
    this.#isWell = true;
    this.#deps.medium.full = false;
    this.#amidst = undefined;
  }

  /** Happens in the middle of the next write, if there is one while things go wrong. */
  amidst(happen: () => void): void {
    this.#amidst = happen;
  }

  /** The store for one process, with its judgement whether the owner on record lives. */
  open(by: Opener): Store {
    const { life } = by;
    const { medium } = this.#deps;
    this.#underWay.set(life, { by, batches: [] });
    const ask = <T>(verb: (store: Store) => Promise<T>): Promise<T> => life.pass(medium.ask(by, verb));
    const change = <T>(verb: (store: Store) => Promise<T>): Promise<T> => life.pass(medium.ask(by, verb, true));
    const commit = this.#inOrder(by);
    return {
      acquire: (owner) => change((store) => this.#acquire(owner, store)),
      renew: (term) => ask((store) => store.renew(term)),
      release: (term) => change((store) => store.release(term)),
      owner: () => ask((store) => store.owner()),
      commit: (batch) => life.pass(commit(batch)),
      maintain: () => void ask(async (store) => store.maintain()),
      runs: (which) => ask((store) => store.runs(which)),
      load: (run) => ask((store) => store.load(run)),
      events: (query) => ask((store) => store.events(query)),
      history: (plan) => ask((store) => store.history(plan)),
      lastSeq: () => ask((store) => store.lastSeq()),
      sessions: () => ask((store) => store.sessions()),
      pauses: () => ask((store) => store.pauses()),
      recall: (key) => ask((store) => store.recall(key)),
      doneWith: (keys) => ask((store) => store.doneWith(keys)),
      forget: (before) => change((store) => store.forget(before)),
      prune: (runs) => change((store) => store.prune(runs)),
      forgotten: () => ask((store) => store.forgotten()),
      secret: (fresh) => change((store) => store.secret(fresh)),
      request: (request) => change((store) => store.request(request)),
      requests: () => ask((store) => store.requests()),
      damage: () => ask((store) => store.damage()),
      check: () => ask((store) => store.check()),
      [Symbol.asyncDispose]: async () => {},
    };
  }

  /** The process is dead: some, or all, of its batches may have been written. */
  ended(life: Life): void {
    const { medium } = this.#deps;
    const found = this.#underWay.get(life);
    if (found === undefined) return;
    this.#underWay.delete(life);
    const torn = this.#writeSome(found.by, found.batches);
    if (torn === undefined) medium.end(found.by);
    else medium.end(found.by, torn, () => this.#written(torn));
  }

  /** The power goes, and takes every process with it. */
  cut(): void {
    const { medium } = this.#deps;
    const writing = [...this.#underWay.values()].findLast(({ batches }) => batches.length > 0);
    this.#underWay.clear();
    const batch = writing && this.#writeSome(writing.by, writing.batches);
    if (writing === undefined || batch === undefined) return medium.cut();
    medium.cut({ by: writing.by, batch }, () => this.#written(batch));
  }

  /** Writes the first of the batches. Gives the next one, which may be written or not; nothing when it was not begun. */
  #writeSome(by: Opener, batches: readonly Batch[]): Batch | undefined {
    const { chance, medium } = this.#deps;
    const whole = chance.flip(0.7) ? 0 : chance.whole(0, batches.length);
    for (const batch of batches.slice(0, whole))
      void medium.commit(by, batch, () => this.#written(batch)).catch(() => {});
    return chance.flip(0.8) ? batches[whole] : undefined;
  }

  async #acquire(owner: Owner, store: Store): ReturnType<Store["acquire"]> {
    const acquired = await store.acquire(owner);
    if (acquired.ok) this.epoch = acquired.value.epoch;
    return acquired;
  }

  /** Batches are written in the order in which they are given, and none after a batch that was not written. */
  #inOrder(by: Opener): Store["commit"] {
    let last: ReturnType<Store["commit"]> | undefined;
    return (batch) => {
      const before = last;
      this.#underWay.get(by.life)?.batches.push(batch);
      last = (async () => {
        const earlier = await before;
        return earlier?.ok === false ? earlier : this.#commit(batch, by);
      })();
      return last;
    };
  }

  async #commit(batch: Batch, by: Opener): Promise<Awaited<ReturnType<Store["commit"]>>> {
    const { trace, medium, chance, faults } = this.#deps;
    const fails = !this.#isWell && faults.fsync !== undefined && chance.flip(faults.fsync * 0.02);
    await this.#wait();
    const amidst = this.#amidst;
    this.#amidst = undefined;
    amidst?.();
    // The writer is dead: the fate of this batch was decided at its end.
    if (!by.life.isAlive) throw new DiskError("its writer is gone");
    this.#underWay.get(by.life)?.batches.shift();
    const committed = await medium.commit(by, batch, () => this.#written(batch), fails ? chance : undefined);
    if (committed.ok) return committed;
    trace(`disk: epoch ${batch.epoch} is over`);
    return err(committed.error);
  }

  #written(batch: Batch): void {
    this.#deps.written(batch);
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

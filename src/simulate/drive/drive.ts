/**
 * The real SQLite store on real files, under a disk that fails by seed: statements that end in an I/O error, a full disk, writers that die in
 * the middle of a commit or of folding the log back, and power cuts. The drive follows from outside what SQLite and the store have synced, so
 * that a power cut can leave what a disk could have left: everything that was synced, and any sectors of the rest.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UserError } from "../../domain/errors.ts";
import { isRecorded } from "../../domain/event.ts";
import { connect, type Durability } from "../../store/sqlite/connect.ts";
import { endOfLog } from "../../store/sqlite/log/check.ts";
import { openSqliteStore } from "../../store/sqlite/store.ts";
import type { Batch, Store } from "../../store/store.ts";
import type { VirtualClock } from "../clock.ts";
import type { Chance } from "../faults/seed/chance.ts";
import type { Life } from "../faults/world/life.ts";
import { DiskError, type Medium, type Opener } from "../faults/world/medium.ts";
import { brokenOff, type Image, layDown, mixed, takeImage, torn, unsyncedFrom } from "./image.ts";
import { type Process, processOn, SqliteFault, type Wear } from "./process.ts";
import { lawsOfRemains } from "./remains.ts";
import { Synced } from "./synced.ts";

export interface DriveDeps {
  readonly clock: VirtualClock;
  readonly chance: Chance;
  /** Told of errors that the disk did not cause. */
  readonly violate: (law: string) => void;
  /** Whether the sync that happens now fails. */
  readonly failsToSync: () => boolean;
}

type Opened = Process & { readonly store: Store };
type Tear = typeof torn;

/** The number of statements of a typical commit of the simulation. */
const STATEMENTS = 40;
const SQLITE_FULL = 13;
/** A folder in memory, if the system has one: what is on the disk is for the simulation to decide. */
const PLACE = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();

export class Drive implements Medium {
  readonly #deps: DriveDeps;
  readonly #place = mkdtempSync(join(PLACE, "rota-drive-"));
  readonly #file = join(this.#place, "rota.db");
  readonly #durability: Durability;
  readonly #foldAfter: number;
  readonly #opened = new Map<Life, Opened>();
  readonly #synced = new Synced(this.#file);
  readonly #wear: Wear;
  #commits = 0;
  /** The last event of each batch that was written. */
  readonly #ends: number[] = [0];

  constructor(deps: DriveDeps) {
    const { chance, clock, failsToSync } = deps;
    this.#deps = deps;
    this.#durability = chance.flip(0.25) ? "normal" : "full";
    this.#foldAfter = chance.pick([20, 100, 4_000]);
    this.#wear = {
      chance: chance.fork("wear"),
      clock,
      failsToSync,
      full: "no",
      boot: 1,
      committed: () => this.#commits++,
    };
    writeFileSync(this.#file, emptyDatabase());
  }

  get mayForget(): boolean {
    return this.#durability === "normal";
  }

  get full(): boolean {
    return this.#wear.full !== "no";
  }

  set full(isFull: boolean) {
    if (isFull === this.full) return;
    this.#wear.full = !isFull ? "no" : this.#deps.chance.flip(0.5) ? "at the commit" : "for SQLite";
    for (const opened of this.#opened.values()) opened.limit();
  }

  async ask<T>(by: Opener, verb: (store: Store) => Promise<T>): Promise<T> {
    try {
      return await verb(this.#of(by).store);
    } catch (error) {
      throw this.#asTold(error);
    }
  }

  async commit(by: Opener, batch: Batch, isThere: () => void, fails?: Chance): ReturnType<Store["commit"]> {
    try {
      const opened = this.#of(by);
      opened.failsIn = fails?.whole(0, STATEMENTS);
      const committed = this.#write(opened, batch, isThere);
      opened.failsIn = undefined;
      return await committed;
    } catch (error) {
      throw this.#asTold(error);
    }
  }

  end(by: Opener, writing?: Batch, isThere: () => void = () => {}): void {
    const opened = this.#opened.get(by.life);
    if (opened === undefined) return;
    // Other processes have mapped the index of the log: the files cannot be changed while they read.
    const isLast = this.#opened.size === 1;
    if (!isLast && writing !== undefined) void this.#write(opened, writing, isThere).catch(() => {});
    const left = isLast ? this.#interrupted(opened, writing, isThere, brokenOff) : undefined;
    this.#close(by.life, opened);
    if (left !== undefined) layDown(this.#file, left);
  }

  cut(writing?: { readonly by: Opener; readonly batch: Batch }, isThere: () => void = () => {}): void {
    const [first] = this.#opened.values();
    const opened = writing === undefined ? first : this.#opened.get(writing.by.life);
    const left = opened && this.#interrupted(opened, writing?.batch, isThere, torn);
    for (const [life, each] of this.#opened) this.#close(life, each);
    if (left !== undefined)
      layDown(this.#file, { ...left, mark: this.#deps.chance.pick([left.mark, this.#synced.mark]) });
    if (!this.mayForget) this.#synced.all(this.#lastSeq);
    this.#wear.boot++;
  }

  remains(): Promise<readonly string[]> {
    const { atLeast } = this.#synced;
    return this.look((store) => lawsOfRemains(store, { ends: this.#ends, atLeast }));
  }

  async look<T>(verb: (store: Store) => Promise<T>): Promise<T> {
    await using store = openSqliteStore(this.#file, { readOnly: true, lives: () => false });
    return await verb(store);
  }

  [Symbol.dispose](): void {
    for (const [life, opened] of this.#opened) this.#close(life, opened);
    rmSync(this.#place, { recursive: true, force: true });
  }

  get #lastSeq(): number {
    return this.#ends.at(-1) as number;
  }

  #of({ life, clock, lives }: Opener): Opened {
    const known = this.#opened.get(life);
    if (known !== undefined) return known;
    if (!life.isAlive) throw new DiskError("the process that asks is gone");
    const process = processOn(this.#wear, this.#synced, () => this.#lastSeq);
    const { platform } = process;
    const settings = { platform, durability: this.#durability, foldAfter: this.#foldAfter, clock, lives };
    try {
      const opened = Object.assign(process, { store: openSqliteStore(this.#file, settings) });
      this.#opened.set(life, opened);
      return opened;
    } catch (error) {
      process.die();
      throw error;
    }
  }

  #close(life: Life, opened: Opened): void {
    this.#opened.delete(life);
    opened.die();
  }

  /** The commit is done when this returns, even if its answer comes later. */
  #write({ store }: Opened, batch: Batch, isThere: () => void): ReturnType<Store["commit"]> {
    const before = this.#commits;
    const committed = store.commit(batch);
    if (this.#commits > before) {
      this.#ends.push(batch.events.findLast(isRecorded)?.seq ?? this.#lastSeq);
      isThere();
    }
    return committed;
  }

  /** The files as they are when a process ends in the middle of writing this batch, of folding the log back, or of neither. */
  #interrupted(opened: Opened, batch: Batch | undefined, isThere: () => void, tear: Tear): Image {
    const { chance } = this.#deps;
    const before = takeImage(this.#file);
    const synced = tear === torn ? this.#synced.log(before.wal) : before.wal;
    const tearing = (wal: Buffer): Buffer => tear(synced, wal, unsyncedFrom(endOfLog(synced), wal), chance);
    if (batch === undefined) {
      if (!chance.flip(0.3)) return { ...before, wal: tearing(before.wal) };
      // The log is synced before any of it is folded back.
      opened.fold();
      return { ...before, db: mixed(before.db, readFileSync(this.#file), chance) };
    }
    let isDone = false;
    void this.#write(opened, batch, () => {
      isDone = true;
    }).catch(() => {});
    const after = takeImage(this.#file);
    const wal = tearing(after.wal);
    const [found, whole] = [endOfLog(wal), endOfLog(after.wal)];
    if (isDone && found.salts === whole.salts && found.pages === whole.pages) isThere();
    else if (isDone) this.#ends.pop();
    return { ...after, wal };
  }

  /** The error that the store is expected to throw for a disk error; an error of SQLite itself is a violation. */
  #asTold(error: unknown): unknown {
    if (error instanceof SqliteFault) this.#deps.violate(`an error of SQLite came through as it was: ${error.message}`);
    if (!(error instanceof UserError)) return error;
    const { cause } = error;
    const isOfDisk =
      cause instanceof DiskError || (cause as { errcode?: unknown } | undefined)?.errcode === SQLITE_FULL;
    return isOfDisk && (error.code === "STORE_FAILED" || error.code === "STATE_UNUSABLE")
      ? new DiskError(error.message.replaceAll(this.#place, ""))
      : error;
  }
}

let made: Buffer | undefined;

/** A database with the schema and no rows, made once: making it takes longer than a seed. */
function emptyDatabase(): Buffer {
  if (made !== undefined) return made;
  const place = mkdtempSync(join(PLACE, "rota-drive-"));
  const file = join(place, "rota.db");
  connect(file).close();
  made = readFileSync(file);
  rmSync(place, { recursive: true });
  return made;
}

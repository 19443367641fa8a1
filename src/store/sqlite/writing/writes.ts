/**
 * Every write to the file: a small one here, a large batch by the writer thread. After the disk has failed once nothing more is written: a
 * second try may seem to succeed although what the first one wrote is gone.
 */
import { UserError } from "../../../domain/errors.ts";
import { systemClock } from "../../../effects/clock.ts";
import { err, ok } from "../../../std/result.ts";
import type { Store } from "../../store.ts";
import { Turns } from "../../turns.ts";
import { FOLD_AFTER, placeOf, type SqliteOptions } from "../connect.ts";
import { asUserError, isOfDisk } from "../failure.ts";
import { folding } from "../log/fold.ts";
import { LogSync } from "../log/sync.ts";
import { type Database, REAL } from "../platform.ts";
import type { Target } from "../reading/read.ts";
import { Writer, type WriterFailure } from "../writer.ts";
import { type Sheet, sheetOf } from "./sheet.ts";
import type { transactions } from "./target.ts";
import { writeSheet } from "./write.ts";

export interface WritesDeps {
  readonly db: Database;
  readonly file: string;
  /** Nothing when the file is only read. */
  readonly target: Target | undefined;
  readonly options: SqliteOptions;
  readonly inTransaction: ReturnType<typeof transactions>;
}

export class Writes implements AsyncDisposable {
  readonly #deps: WritesDeps;
  /** There only where commits are not on the disk when they are answered. The process does not stay alive for it: closing the store syncs everything. */
  readonly log: LogSync | undefined;
  readonly #writer: Writer;
  readonly #fold: (() => void) | undefined;
  readonly #mayGoAside: boolean;
  readonly #turns = new Turns();
  /** Names the file that is open here; nothing for a file that is not written. */
  readonly #identity: () => string | undefined;
  readonly #opened: string | undefined;
  #failure: Error | undefined;

  constructor(deps: WritesDeps) {
    this.#deps = deps;
    const { db, file, target, options } = deps;
    const { durability = "full", foldAfter = FOLD_AFTER, platform = REAL, clock, aside } = options;
    const isWritten = target !== undefined && file !== ":memory:";
    const database = placeOf(platform, file);
    this.#identity = isWritten ? () => platform.files.identity(database) : () => undefined;
    this.#opened = this.#identity();
    this.#mayGoAside = isWritten && platform === REAL;
    this.#fold = isWritten ? folding(db, foldAfter) : undefined;
    this.#writer = new Writer({ file, durability, foldAfter }, (broken) => this.#fail(errorOf(broken)), aside);
    if (!isWritten || durability === "full") return;
    this.log = new LogSync({
      db,
      platform,
      database,
      clock: clock ?? systemClock({ keepsAlive: false }),
      failed: (error) => this.#fail(asUserError(error, file, "STORE_FAILED")),
    });
  }

  /** One transaction, answered as safe as was asked for. */
  async write<T>(verb: (target: Target) => T): Promise<T> {
    if (this.#writer.busy) await this.#writer.idle();
    const result = this.#now(verb);
    await this.#mayAnswer();
    return result;
  }

  /** As the store promises it. */
  readonly commit: Store["commit"] = async (batch) => {
    const sheet = sheetOf(batch);
    const goesAside = this.#mayGoAside && this.#writer.takes(sheet.size);
    const isWritten = goesAside ? await this.#aside(sheet) : this.#here(sheet);
    await this.#mayAnswer();
    return isWritten ? ok(undefined) : err("ownership-lost");
  };

  /** The commit stands whatever happens here; but a disk that fails now is not used again. */
  afterwards(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#fail(asUserError(error, this.#deps.file, "STORE_FAILED"));
    }
  }

  /** Keeps the log short. While the writer thread works, it does this itself, between two batches. */
  maintain(): void {
    if (!this.#writer.busy && this.#failure === undefined) this.afterwards(() => this.#fold?.());
  }

  /** Nothing is written any more; throws what has failed and could not be told before. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { db } = this.#deps;
    const known = this.#failure;
    if (this.#writer.isThere) await this.#writer[Symbol.asyncDispose]();
    // SQLite does it when it closes the file, but not while another connection has it open.
    if (this.log !== undefined) await this.log[Symbol.asyncDispose]();
    if (db.isOpen) db.close();
    if (this.#failure !== undefined && this.#failure !== known) throw this.#failure;
  }

  /** The write lock is taken at once, so that nothing read in here can be out of date. */
  #now<T>(verb: (target: Target) => T, keeps?: (result: T) => boolean): T {
    const { file, target, inTransaction } = this.#deps;
    if (target === undefined) throw new UserError("STORE_FAILED", `${file}: it was opened for reading only`);
    if (this.#failure !== undefined) throw this.#failure;
    try {
      const result = inTransaction(() => verb(target), "immediate", keeps);
      if (keeps === undefined || keeps(result)) this.log?.wrote();
      return result;
    } catch (error) {
      const told = asUserError(error, file, "STORE_FAILED");
      if (isOfDisk(error)) this.#fail(told);
      throw told;
    }
  }

  #here(sheet: Sheet): boolean {
    const written = (isWritten: boolean): boolean => isWritten;
    return this.#turns.next(sheet.epoch, () => this.#now((target) => writeSheet(target, sheet), written));
  }

  async #aside(sheet: Sheet): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure;
    this.#turns.next(sheet.epoch, () => true);
    const answer = await this.#writer.write(sheet);
    if ("written" in answer && answer.written) this.log?.wrote();
    return this.#turns.next(sheet.epoch, () => {
      if ("written" in answer) return answer.written;
      const told = errorOf(answer.failed);
      if (answer.failed.ofDisk) this.#fail(told);
      throw told;
    });
  }

  /** No commit is answered when earlier ones cannot be brought to the disk, nor before most of them are there. */
  async #mayAnswer(): Promise<void> {
    this.#mustBeInPlace();
    if (this.log === undefined) return;
    await this.log.caughtUp();
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** The system lets SQLite write on into a file that was removed, and no later reader finds what it wrote. */
  #mustBeInPlace(): void {
    if (this.#identity() === this.#opened) return;
    throw this.#fail(removed(this.#deps.file));
  }

  /** Every later call fails with the first failure. */
  #fail(error: unknown): Error {
    this.#failure ??= error as Error;
    return this.#failure;
  }
}

const removed = (file: string): UserError =>
  new UserError("STATE_UNUSABLE", `${file} was removed or replaced while it was in use`, {
    hint: "Put it back and go on with --resume, or start anew; nothing that was not saved was reported.",
  });

/** A failure of the writer thread, as an error of this one. */
const errorOf = ({ code, message }: WriterFailure): Error =>
  code === undefined ? new Error(message) : new UserError(code, message);

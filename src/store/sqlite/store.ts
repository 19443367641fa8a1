/** The store in one SQLite file, with a daybook beside it. One writer, write-ahead log, everything of a turn in one entry or transaction. */
import { UserError } from "../../domain/errors.ts";
import { systemClock } from "../../effects/clock.ts";
import { err, ok } from "../../std/result.ts";
import type { Store } from "../store.ts";
import { Turns } from "../turns.ts";
import { audit } from "./audit.ts";
import { Bookkeeper, LAID_AFTER } from "./bookkeeper.ts";
import { readBookmark } from "./bookmark.ts";
import { connect, FOLD_AFTER, refuseOldSqlite, type SqliteOptions } from "./connect.ts";
import { forgetTaken } from "./daybook.ts";
import { asUserError, isOfDisk, type Otherwise } from "./failure.ts";
import { brokenLog } from "./log-check.ts";
import { LogRoom } from "./log-room.ts";
import { LogSync } from "./log-sync.ts";
import { userVersion } from "./migrate.ts";
import { type Database, REAL } from "./platform.ts";
import { closeBook, hasUnposted, postBeside, postFile } from "./posting.ts";
import { pruneRuns } from "./prune.ts";
import { readHistory, readOwner, readRequests, readRun, readRuns, type Source, type Target } from "./read.ts";
import { readEvents, readForgotten, readLastSeq } from "./read-ledger.ts";
import { forgetAnswers, type Registers, readAnswer, readPauses, readSecret, readSessions } from "./registers.ts";
import { type Counted, refuseMissing, sealTable } from "./seals.ts";
import { type Sheet, sheetOf } from "./sheet.ts";
import {
  prepareForgetting,
  prepareReading,
  prepareRegisters,
  prepareSeals,
  REGISTERS_SINCE,
  SUMS_SINCE,
} from "./statements.ts";
import { sumOf } from "./sums.ts";
import { targetOn, transactions } from "./target.ts";
import type { Fit } from "./versions.ts";
import { writeSheet } from "./write.ts";
import { Writer, type WriterFailure } from "./writer.ts";

export function openSqliteStore(file: string, options: SqliteOptions = {}): Store {
  refuseOldSqlite(process.versions.sqlite ?? "0");
  const db = connect(file, options);
  try {
    const schema = userVersion(db);
    const target = options.readOnly === true ? undefined : targetOn(db);
    const source = target ?? sourceOn(db, schema);
    const registers = schema >= REGISTERS_SINCE ? prepareRegisters(db, schema) : undefined;
    return storeOn({ db, file, source, registers, target, options });
  } catch (error) {
    db.close();
    throw asUserError(error, file);
  }
}

const sourceOn = (db: Database, schema: number): Source => ({
  sql: prepareReading(db, schema),
  seals: schema >= SUMS_SINCE ? prepareSeals(db, schema) : undefined,
});

interface Parts {
  readonly db: Database;
  readonly file: string;
  readonly source: Source;
  readonly registers: Registers;
  /** Nothing when the file is only read. */
  readonly target: Target | undefined;
  readonly options: SqliteOptions;
}

function storeOn({ db, file, source, registers, target, options }: Parts): Store {
  const inTransaction = transactions(db);
  const { durability = "full", foldAfter = FOLD_AFTER, platform = REAL } = options;
  const { files } = platform;
  let failure: Error | undefined;
  const broke = (failed: WriterFailure): void => {
    failure = errorOf(failed);
  };
  const writer = new Writer({ file, durability, foldAfter }, broke, options.aside);
  const isFile = file !== ":memory:";
  /** Where SQLite has its log, too, whatever the file is called here. */
  const place = isFile ? files.realpath(file) : file;
  const room = target === undefined || !isFile ? undefined : new LogRoom(db, files, file, foldAfter);
  /** Where commits are not on the disk when they are answered. The process does not stay for it: closing brings everything there. */
  const log =
    target === undefined || !isFile || durability === "full"
      ? undefined
      : new LogSync({
          files,
          database: place,
          clock: options.clock ?? systemClock({ keepsAlive: false }),
          failed: (error) => {
            failure ??= asUserError(error, file, "STORE_FAILED") as Error;
          },
        });
  /** Nobody is told of more when what they were told before cannot be brought to the disk, and not before most of it is there. */
  const mayAnswer = async (): Promise<void> => {
    await log?.caughtUp();
    if (failure !== undefined) throw failure;
  };
  const turns = new Turns();
  /** There may be many rows, so that a table is whole is found out once. */
  const whole = new Set<Counted>();
  const mustBeWhole = (table: Counted): void => {
    if (!whole.has(table)) refuseMissing(source.seals, table);
    whole.add(table);
  };
  /** Whatever a verb meets in the file is told in words a person can act on. */
  const plainly = <T>(verb: () => T, otherwise: Otherwise = "STATE_UNUSABLE"): T => {
    try {
      return verb();
    } catch (error) {
      throw asUserError(error, file, otherwise);
    }
  };
  /**
   * The write lock is taken at once, so that nothing read in here can be out of date. After the disk has failed once nothing more
   * is written: a second try may seem to succeed although what the first one wrote is gone.
   */
  const writeNow = <T>(verb: (target: Target) => T, keeps?: (result: T) => boolean): T => {
    if (target === undefined) throw new UserError("STORE_FAILED", `${file}: it was opened for reading only`);
    if (failure !== undefined) throw failure;
    try {
      const result = inTransaction(() => verb(target), "immediate", keeps);
      if (keeps === undefined || keeps(result)) log?.wrote();
      return result;
    } catch (error) {
      const told = asUserError(error, file, "STORE_FAILED");
      if (isOfDisk(error)) failure = told as Error;
      throw told;
    }
  };
  /** What another has promised is on the disk before its daybook is written over, whatever is promised here. */
  const writeSynced = <T>(verb: (target: Target) => T): T => {
    if (durability === "full" || !isFile) return writeNow(verb);
    let isBooked = false;
    const result = writeNow(
      (all) => {
        isBooked = (readBookmark(all)?.book ?? null) !== null;
        return isBooked ? undefined : verb(all);
      },
      () => !isBooked,
    );
    if (!isBooked) return result as T;
    setSynced(true);
    try {
      return writeNow(verb);
    } finally {
      setSynced(false);
    }
  };
  const setSynced = (isSynced: boolean): void => {
    try {
      db.exec(`pragma synchronous = ${isSynced ? "full" : "normal"}`);
    } catch (error) {
      const told = asUserError(error, file, "STORE_FAILED") as Error;
      if (isOfDisk(error)) failure = told;
      throw told;
    }
  };
  const laidAfter = durability === "full" && isFile ? (options.daybookAfter ?? LAID_AFTER) : undefined;
  const bookkeeper = new Bookkeeper({ file: place, laidAfter, write: writeNow });
  const orForsake = <T>(verb: () => T): T => {
    try {
      return verb();
    } catch (error) {
      bookkeeper.forsake();
      throw error;
    }
  };
  /** What was entered in the daybook, whoever has it open, is in the tables when this returns. */
  const catchUp = (): void => {
    if (bookkeeper.keepsBook) return bookkeeper.post();
    if (!isFile || !plainly(() => hasUnposted(place, source))) return;
    if (target !== undefined) writeSynced((all) => postFile(place, all));
    else plainly(() => postBeside(place));
  };
  const reading = <T>(verb: () => T): T => {
    catchUp();
    return plainly(() => inTransaction(verb, "deferred"));
  };
  const writing = async <T>(verb: (target: Target) => T): Promise<T> => {
    if (writer.busy) await writer.idle();
    if (!isFile) return writeNow(verb);
    bookkeeper.post();
    const result = orForsake(() =>
      writeSynced((all) => {
        bookkeeper.count(all);
        return verb(all);
      }),
    );
    if (log !== undefined) await mayAnswer();
    return result;
  };
  /** What was committed stays so, whatever comes of this; but a disk that fails now is not asked again. */
  const keepRoom = (): void => {
    try {
      room?.keep();
    } catch (error) {
      failure = asUserError(error, file, "STORE_FAILED") as Error;
    }
  };
  /** What could not be posted now is posted later, unless the disk has failed: then it is known already. */
  const keepBook = (): void => {
    try {
      bookkeeper.tend();
    } catch {
      // It is in the daybook all the same.
    }
  };
  /** A disk that does not take an entry is not asked again: what it has of it is not known. */
  const enter = (sheet: Sheet, fit: Fit): boolean | undefined => {
    if (failure !== undefined) throw failure;
    try {
      return bookkeeper.enter(sheet, fit);
    } catch (error) {
      failure ??= asUserError(error, file, "STORE_FAILED") as Error;
      throw failure;
    }
  };
  const commitHere = (sheet: Sheet, fit: Fit): boolean =>
    turns.next(sheet.epoch, () => {
      const isEntered = enter(sheet, fit);
      if (isEntered !== undefined) return isEntered;
      bookkeeper.post();
      return writeNow(
        (all) => writeSheet(all, sheet),
        (written) => written,
      );
    });
  const commitAside = async (sheet: Sheet): Promise<boolean> => {
    if (failure !== undefined) throw failure;
    turns.next(sheet.epoch, () => {
      bookkeeper.post();
      return true;
    });
    const answer = await writer.write(sheet);
    if ("written" in answer && answer.written) log?.wrote();
    return turns.next(sheet.epoch, () => {
      if ("written" in answer) return answer.written;
      const told = errorOf(answer.failed);
      if (answer.failed.ofDisk) failure = told;
      throw told;
    });
  };
  const goesAside = ({ size }: Sheet): boolean =>
    target !== undefined && isFile && platform === REAL && writer.takes(size);
  return {
    async acquire(owner, alive) {
      const acquired = await writing((all) => {
        const { owner: current, epoch } = readOwner(source);
        if (current !== undefined && alive(current)) return err(current);
        if (isFile) closeBook(place, all);
        const values = [epoch + 1, JSON.stringify(owner)] as const;
        all.write.writeOwnership.run(...values, sumOf("ownership", ...values));
        return ok(epoch + 1);
      });
      if (acquired.ok && isFile) {
        forgetTaken(place);
        bookkeeper.takeOver(acquired.value);
        keepBook();
      }
      return acquired;
    },
    async release(epoch) {
      await writing(({ write }) => {
        if (readOwner(source).epoch === epoch) write.writeOwnership.run(epoch, null, sumOf("ownership", epoch, null));
      });
    },
    async owner() {
      return plainly(() => readOwner(source).owner);
    },
    async commit(batch) {
      try {
        const sheet = sheetOf(batch, bookkeeper.number(batch.epoch));
        const fit = bookkeeper.fit(batch);
        const isWritten = goesAside(sheet) ? await commitAside(sheet) : commitHere(sheet, fit);
        if (!isWritten) bookkeeper.forsake();
        if (log !== undefined) await mayAnswer();
        return isWritten ? ok(undefined) : err("ownership-lost");
      } catch (error) {
        bookkeeper.forsake();
        throw error;
      }
    },
    tend() {
      // While the thread writes it sees to this itself, between two batches.
      if (writer.busy || failure !== undefined) return;
      keepBook();
      if (failure === undefined) keepRoom();
    },
    async runs(which) {
      const isNew = which === undefined || typeof which === "string" || !("id" in which);
      if (isNew || !bookkeeper.keepsBook || bookkeeper.hasNewsOf(which.id)) catchUp();
      return plainly(() => readRuns(source, which));
    },
    async load(no) {
      const isBehind = writer.busy;
      const stored = reading(() => readRun(source, no));
      if (stored !== undefined && !isBehind) bookkeeper.learn(stored);
      return stored;
    },
    async events(query) {
      return reading(() => readEvents(source, query));
    },
    async history(plan) {
      return reading(() => {
        mustBeWhole("duration");
        mustBeWhole("estimate_error");
        return readHistory(source, plan);
      });
    },
    async lastSeq() {
      return reading(() => readLastSeq(source));
    },
    async sessions() {
      return reading(() => readSessions(registers, source));
    },
    async pauses() {
      return reading(() => readPauses(registers, source));
    },
    async recall(key) {
      if (!bookkeeper.keepsBook) catchUp();
      const recalled = plainly(() =>
        inTransaction(() => {
          mustBeWhole("answer");
          return readAnswer(registers, source, key);
        }, "deferred"),
      );
      return recalled ?? bookkeeper.recall(key);
    },
    async forget(before) {
      await writing((all) => forgetAnswers(all, before));
    },
    async prune(runs, alive) {
      const pruned = await writing((all) => {
        const { owner } = readOwner(all);
        return owner !== undefined && alive(owner) ? err(owner) : ok(pruneRuns(all, prepareForgetting(db), runs));
      });
      keepRoom();
      return pruned;
    },
    async forgotten() {
      return reading(() => readForgotten(source));
    },
    async secret(fresh) {
      return writing(({ write }) => readSecret(source, write, fresh));
    },
    async request(request) {
      return writing(({ write, seals }) => {
        const body = JSON.stringify(request);
        const no = Number(write.insertRequest.run(request.at, body).lastInsertRowid);
        const sum = sumOf("request", no, request.at, body);
        write.sumRequest.run(sum, no);
        sealTable(seals, write, "request", sum);
        return no;
      });
    },
    async requests() {
      return reading(() => readRequests(source));
    },
    async check() {
      catchUp();
      return plainly(() => {
        const lines = db.prepare("pragma integrity_check").all();
        const broken = lines.map(({ integrity_check: line }) => String(line)).filter((line) => line !== "ok");
        const log = isFile ? brokenLog(files, file) : undefined;
        if (log !== undefined) broken.push(log);
        if (broken.length > 0 || source.seals === undefined) return broken;
        return inTransaction(() => [...audit(db)], "deferred");
      });
    },
    async [Symbol.asyncDispose]() {
      const known = failure;
      if (writer.isThere) await writer[Symbol.asyncDispose]();
      if (failure === undefined) bookkeeper.close();
      else bookkeeper.forsake();
      room?.[Symbol.dispose]();
      // SQLite does it when it closes the file, but not while somebody else has it open.
      if (log !== undefined) await log[Symbol.asyncDispose]();
      if (db.isOpen) db.close();
      if (failure !== undefined && failure !== known) throw failure;
    },
  };
}

/** What the thread has met, as an error of this one. */
const errorOf = ({ code, message }: WriterFailure): Error =>
  code === undefined ? new Error(message) : new UserError(code, message);

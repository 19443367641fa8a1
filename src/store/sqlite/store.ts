/** The store in one SQLite file. One writer, write-ahead log, everything of a turn in one transaction. */
import { UserError } from "../../domain/errors.ts";
import { systemClock } from "../../effects/clock.ts";
import { err, ok } from "../../std/result.ts";
import type { Epoch, OnRecord, Store } from "../store.ts";
import { Turns } from "../turns.ts";
import { audit } from "./audit.ts";
import { connect, FOLD_AFTER, placeOf, refuseOldSqlite, type SqliteOptions } from "./connect.ts";
import { asUserError, isOfDisk, type Otherwise } from "./failure.ts";
import { folding } from "./fold.ts";
import { ownerLives } from "./judge.ts";
import { brokenLog } from "./log-check.ts";
import { forgetMark } from "./log-mark.ts";
import { LogSync } from "./log-sync.ts";
import { type Database, REAL } from "./platform.ts";
import { pruneRuns } from "./prune.ts";
import { readHistory, readOwner, readRequests, readRun, readRuns, type Source, type Target } from "./read.ts";
import { readEvents, readForgotten, readLastSeq } from "./read-ledger.ts";
import { forgetAnswers, readAnswer, readDoneKeys, readPauses, readSecret, readSessions } from "./registers.ts";
import { type Counted, refuseMissing, sealTable } from "./seals.ts";
import { type Sheet, sheetOf } from "./sheet.ts";
import { prepareForgetting } from "./statements.ts";
import { sumOf } from "./sums.ts";
import { sourceOn, targetOn, transactions } from "./target.ts";
import { writeSheet } from "./write.ts";
import { Writer, type WriterFailure } from "./writer.ts";

export function openSqliteStore(file: string, options: SqliteOptions = {}): Store {
  refuseOldSqlite(process.versions.sqlite ?? "0");
  const db = connect(file, options);
  try {
    const target = options.readOnly === true ? undefined : targetOn(db);
    return storeOn({ db, file, source: target ?? sourceOn(db), target, options });
  } catch (error) {
    db.close();
    throw asUserError(error, file);
  }
}

interface Parts {
  readonly db: Database;
  readonly file: string;
  readonly source: Source;
  /** Nothing when the file is only read. */
  readonly target: Target | undefined;
  readonly options: SqliteOptions;
}

function storeOn({ db, file, source, target, options }: Parts): Store {
  const inTransaction = transactions(db);
  const { durability = "full", foldAfter = FOLD_AFTER, platform = REAL, lives = ownerLives } = options;
  const { files } = platform;
  let failure: Error | undefined;
  const broke = (failed: WriterFailure): void => {
    failure = errorOf(failed);
  };
  const writer = new Writer({ file, durability, foldAfter }, broke, options.aside);
  const isFile = file !== ":memory:";
  const place = placeOf(platform, file);
  const fold = target === undefined || !isFile ? undefined : folding(db, foldAfter);
  /** Where commits are not on the disk when they are answered. The process does not stay alive for it: closing the store syncs everything. */
  const log =
    target === undefined || !isFile || durability === "full"
      ? undefined
      : new LogSync({
          db,
          platform,
          database: place,
          clock: options.clock ?? systemClock({ keepsAlive: false }),
          failed: (error) => {
            failure ??= asUserError(error, file, "STORE_FAILED") as Error;
          },
        });
  const identity = isFile && target !== undefined ? files.identity(place) : undefined;
  /** The system lets SQLite write on into a file that was removed, and no later reader finds what it wrote. */
  const mustBeInPlace = (): void => {
    if (identity === undefined || files.identity(place) === identity) return;
    failure ??= removed(file);
    throw failure;
  };
  /** No commit is answered when earlier ones cannot be brought to the disk, nor before most of them are there. */
  const mayAnswer = async (): Promise<void> => {
    mustBeInPlace();
    if (log === undefined) return;
    await log.caughtUp();
    if (failure !== undefined) throw failure;
  };
  const turns = new Turns();
  /** A table may have many rows, so whether it is complete is checked once. */
  const whole = new Set<Counted>();
  const mustBeWhole = (table: Counted): void => {
    if (!whole.has(table)) refuseMissing(source.seals, table);
    whole.add(table);
  };
  /** Errors of a verb are turned into errors that tell a person what to do. */
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
  /** The owner's process says whether it still schedules: a term of this store does not end by time. */
  const onRecord = (): { readonly epoch: Epoch; readonly current: OnRecord | undefined } => {
    const { owner, epoch } = readOwner(source);
    return { epoch, current: owner && { ...owner, lives: lives(owner) } };
  };
  const reading = <T>(verb: () => T): T => plainly(() => inTransaction(verb, "deferred"));
  const writing = async <T>(verb: (target: Target) => T): Promise<T> => {
    if (writer.busy) await writer.idle();
    const result = writeNow(verb);
    await mayAnswer();
    return result;
  };
  /** The commit stands whatever happens here; but a disk that fails now is not used again. */
  const afterwards = (act: () => void): void => {
    try {
      act();
    } catch (error) {
      failure ??= asUserError(error, file, "STORE_FAILED") as Error;
    }
  };
  const brokenLogHere = (): string | undefined => (isFile ? brokenLog(platform, place) : undefined);
  const commitHere = (sheet: Sheet): boolean =>
    turns.next(sheet.epoch, () =>
      writeNow(
        (all) => writeSheet(all, sheet),
        (written) => written,
      ),
    );
  const commitAside = async (sheet: Sheet): Promise<boolean> => {
    if (failure !== undefined) throw failure;
    turns.next(sheet.epoch, () => true);
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
    async acquire(owner) {
      const acquired = await writing(({ write }) => {
        const { current, epoch } = onRecord();
        if (current?.lives) return err(current);
        const values = [epoch + 1, JSON.stringify(owner)] as const;
        write.writeOwnership.run(...values, sumOf("ownership", ...values));
        return ok({ epoch: epoch + 1 });
      });
      if (acquired.ok && isFile) afterwards(() => (log === undefined ? forgetMark(files, place) : log.begin()));
      return acquired;
    },
    async renew(term) {
      return reading(() => {
        const { epoch, current } = onRecord();
        return epoch === term.epoch && current !== undefined ? ok(term) : err("ownership-lost");
      });
    },
    async release({ epoch }) {
      afterwards(() => log?.end());
      const isOwn = await writing(({ write }) => {
        if (readOwner(source).epoch !== epoch) return false;
        write.writeOwnership.run(epoch, null, sumOf("ownership", epoch, null));
        return true;
      });
      if (isOwn) afterwards(() => log?.ended());
    },
    async owner() {
      return plainly(() => onRecord().current);
    },
    async commit(batch) {
      const sheet = sheetOf(batch);
      const isWritten = goesAside(sheet) ? await commitAside(sheet) : commitHere(sheet);
      await mayAnswer();
      return isWritten ? ok(undefined) : err("ownership-lost");
    },
    tend() {
      // While the writer thread works, it does this itself, between two batches.
      if (!writer.busy && failure === undefined) afterwards(() => fold?.());
    },
    async runs(which) {
      return plainly(() => readRuns(source, which));
    },
    async load(no) {
      return reading(() => readRun(source, no));
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
      return reading(() => readSessions(source));
    },
    async pauses() {
      return reading(() => readPauses(source));
    },
    async recall(key) {
      return reading(() => {
        mustBeWhole("answer");
        return readAnswer(source, key);
      });
    },
    async doneWith(keys) {
      return reading(() => {
        mustBeWhole("done_key");
        return readDoneKeys(source, keys);
      });
    },
    async forget(before) {
      await writing((all) => forgetAnswers(all, before));
    },
    async prune(runs) {
      const pruned = await writing((all) => {
        const { current } = onRecord();
        return current?.lives ? err(current) : ok(pruneRuns(all, prepareForgetting(db), runs));
      });
      afterwards(() => fold?.());
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
    async damage() {
      return brokenLogHere();
    },
    async check() {
      return plainly(() => {
        const lines = db.prepare("pragma integrity_check").all();
        const broken = lines.map(({ integrity_check: line }) => String(line)).filter((line) => line !== "ok");
        const log = brokenLogHere();
        if (log !== undefined) broken.push(log);
        if (broken.length > 0) return broken;
        return inTransaction(() => [...audit(db)], "deferred");
      });
    },
    async [Symbol.asyncDispose]() {
      const known = failure;
      if (writer.isThere) await writer[Symbol.asyncDispose]();
      // SQLite does it when it closes the file, but not while another connection has it open.
      if (log !== undefined) await log[Symbol.asyncDispose]();
      if (db.isOpen) db.close();
      if (failure !== undefined && failure !== known) throw failure;
    },
  };
}

const removed = (file: string): UserError =>
  new UserError("STATE_UNUSABLE", `${file} was removed or replaced while it was in use`, {
    hint: "Put it back and go on with --resume, or start anew; nothing that was not saved was reported.",
  });

/** A failure of the writer thread, as an error of this one. */
const errorOf = ({ code, message }: WriterFailure): Error =>
  code === undefined ? new Error(message) : new UserError(code, message);

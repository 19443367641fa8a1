/** The store in one SQLite file. One writer, write-ahead log, everything of a turn in one transaction. */
import { err, ok } from "../../std/result.ts";
import type { Epoch, OnRecord, Store } from "../store.ts";
import { connect, placeOf, refuseOldSqlite, type SqliteOptions } from "./connect.ts";
import { asUserError } from "./failure.ts";
import { pruneRuns } from "./ledger/prune.ts";
import { brokenLog } from "./log/check.ts";
import { forgetMark } from "./log/mark.ts";
import { type Database, REAL } from "./platform.ts";
import { ownerLives } from "./reading/judge.ts";
import { readOwner, type Source, type Target } from "./reading/read.ts";
import { plainly, readsOf } from "./reading/reads.ts";
import { prepareForgetting } from "./statements.ts";
import { audit } from "./sums/audit.ts";
import { forgetAnswers, readSecret } from "./sums/registers.ts";
import { sumOf } from "./sums/sums.ts";
import { sourceOn, targetOn, transactions } from "./writing/target.ts";
import { addRequest } from "./writing/write.ts";
import { Writes } from "./writing/writes.ts";

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
  const { platform = REAL, lives = ownerLives } = options;
  const place = placeOf(platform, file);
  const isFile = file !== ":memory:";
  const inTransaction = transactions(db);
  const writes = new Writes({ db, file, target, options, inTransaction });
  /** The owner's process says whether it still schedules: a term of this store does not end by time. */
  const onRecord = (): { readonly epoch: Epoch; readonly current: OnRecord | undefined } => {
    const { owner, epoch } = readOwner(source);
    return { epoch, current: owner && { ...owner, lives: lives(owner) } };
  };
  const brokenLogHere = (): string | undefined => (isFile ? brokenLog(platform, place) : undefined);
  return {
    ...readsOf(source, file, inTransaction),
    async acquire(owner) {
      const acquired = await writes.write(({ write }) => {
        const { current, epoch } = onRecord();
        if (current?.lives) return err(current);
        const values = [epoch + 1, JSON.stringify(owner)] as const;
        write.writeOwnership.run(...values, sumOf("ownership", ...values));
        return ok({ epoch: epoch + 1 });
      });
      const { log } = writes;
      const begin = (): void => (log === undefined ? forgetMark(platform.files, place) : log.begin());
      if (acquired.ok && isFile) writes.afterwards(begin);
      return acquired;
    },
    renew: async (term) =>
      plainly(file, () => {
        const { epoch, current } = inTransaction(onRecord, "deferred");
        return epoch === term.epoch && current !== undefined ? ok(term) : err("ownership-lost");
      }),
    async release({ epoch }) {
      writes.afterwards(() => writes.log?.end());
      const isOwn = await writes.write(({ write }) => {
        if (readOwner(source).epoch !== epoch) return false;
        write.writeOwnership.run(epoch, null, sumOf("ownership", epoch, null));
        return true;
      });
      if (isOwn) writes.afterwards(() => writes.log?.ended());
    },
    owner: async () => plainly(file, () => onRecord().current),
    commit: writes.commit,
    maintain: () => writes.maintain(),
    forget: (before) => writes.write((all) => forgetAnswers(all, before)),
    async prune(runs) {
      const pruned = await writes.write((all) => {
        const { current } = onRecord();
        return current?.lives ? err(current) : ok(pruneRuns(all, prepareForgetting(db), runs));
      });
      writes.maintain();
      return pruned;
    },
    secret: (fresh) => writes.write(({ write }) => readSecret(source, write, fresh)),
    request: (request) => writes.write((all) => addRequest(all, request)),
    damage: async () => brokenLogHere(),
    check: async () =>
      plainly(file, () => {
        const lines = db.prepare("pragma integrity_check").all();
        const broken = lines.map(({ integrity_check: line }) => String(line)).filter((line) => line !== "ok");
        const log = brokenLogHere();
        if (log !== undefined) broken.push(log);
        if (broken.length > 0) return broken;
        return inTransaction(() => [...audit(db)], "deferred");
      }),
    [Symbol.asyncDispose]: () => writes[Symbol.asyncDispose](),
  };
}

/** A connection for writing: its statements, and one transaction after the other. */

import type { Database } from "../platform.ts";
import type { Source, Target } from "../reading/read.ts";
import { prepareReading, prepareSeals, prepareWriting } from "../statements.ts";

export const sourceOn = (db: Database): Source => ({ sql: prepareReading(db), seals: prepareSeals(db) });

export function targetOn(db: Database): Target {
  return { ...sourceOn(db), write: prepareWriting(db) };
}

/** Commits what `change` has written, unless its result says otherwise. */
export function transactions(db: Database) {
  const begin = { immediate: db.prepare("begin immediate"), deferred: db.prepare("begin deferred") };
  const commit = db.prepare("commit");
  const rollback = db.prepare("rollback");
  return <T>(change: () => T, mode: "immediate" | "deferred", keeps: (result: T) => boolean = () => true): T => {
    begin[mode].run();
    try {
      const result = change();
      (keeps(result) ? commit : rollback).run();
      return result;
    } catch (error) {
      if (db.isTransaction) rollback.run();
      throw error;
    }
  };
}

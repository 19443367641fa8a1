/** A connection to SQLite with a hook before and after each statement, which can make the statement fail. */
import type { Database } from "../../store/sqlite/platform.ts";

export interface Watch {
  /** An error that a hook throws is the result of the statement. */
  before(sql: string): void;
  after(sql: string): void;
}

export function watched(db: Database, watch: Watch): Database {
  const around = <T>(sql: string, act: () => T): T => {
    watch.before(sql);
    const result = act();
    watch.after(sql);
    return result;
  };
  return {
    prepare(sql) {
      const real = db.prepare(sql);
      return {
        get: (...args: never[]) => around(sql, () => real.get(...args)),
        all: (...args: never[]) => around(sql, () => real.all(...args)),
        run: (...args: never[]) => around(sql, () => real.run(...args)),
        iterate: (...args: never[]) => around(sql, () => real.iterate(...args)),
        setReturnArrays: (enabled) => real.setReturnArrays(enabled),
      };
    },
    exec: (sql) => around(sql, () => db.exec(sql)),
    close: () => db.close(),
    get isOpen() {
      return db.isOpen;
    },
    get isTransaction() {
      return db.isTransaction;
    },
    [Symbol.dispose]: () => db[Symbol.dispose](),
  };
}

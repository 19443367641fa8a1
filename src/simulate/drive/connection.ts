/** A connection to SQLite that somebody looks at before and after each statement, and can make fail there. */
import type { Database } from "../../store/sqlite/platform.ts";

export interface Watch {
  /** What it throws is what the statement comes to. */
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

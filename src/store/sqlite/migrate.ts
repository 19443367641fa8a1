/** Brings a database to the schema this version knows, one numbered step at a time, each whole or not at all. */
import { readdirSync, readFileSync } from "node:fs";
import { UserError } from "../../domain/errors.ts";
import { invariant } from "../../std/invariant.ts";
import { sealEverything } from "./audit.ts";
import type { Database } from "./platform.ts";
import { PAGES_SINCE, SUMS_SINCE } from "./statements.ts";
import { turnPages } from "./turn-pages.ts";

interface Migration {
  readonly no: number;
  readonly place: URL;
}

const FOLDER = new URL("./migrations/", import.meta.url);

/** Forward only. A database that is ahead of this version is left alone. */
export function migrate(db: Database, file: string): void {
  const known = readMigrations();
  refuseNewer(db, file);
  if (userVersion(db) === known.length) return;
  // The lock is taken before the version is read again: two that start at once migrate once.
  db.exec("begin immediate");
  try {
    const before = userVersion(db);
    for (const migration of known.slice(before)) {
      db.exec(readFileSync(migration.place, "utf8"));
      if (migration.no === PAGES_SINCE) turnPages(db, before >= SUMS_SINCE);
      db.exec(`pragma user_version = ${migration.no}`);
    }
    if (before < SUMS_SINCE) sealEverything(db);
    db.exec("commit");
  } catch (error) {
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}

/** What a newer version wrote is not understood, so it is neither changed nor read. */
export function refuseNewer(db: Database, file: string): void {
  const newest = readMigrations().length;
  const version = userVersion(db);
  if (version <= newest) return;
  throw new UserError("STORE_NEWER", `${file} has schema ${version}; this version of Rota knows up to ${newest}`);
}

/** Readers do not change the schema, so they ask which one they have met. */
export const userVersion = (db: Database): number =>
  Number((db.prepare("pragma user_version").get() as { user_version: number }).user_version);

let migrations: readonly Migration[] | undefined;

/** They are part of the program, and do not change while it runs. What they say is read when it is done: mostly never. */
function readMigrations(): readonly Migration[] {
  migrations ??= migrationsIn(FOLDER);
  return migrations;
}

function migrationsIn(folder: URL): readonly Migration[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort();
  return names.map((name, index) => {
    const no = Number(name.slice(0, 4));
    invariant(no === index + 1, `migration ${name} is number ${index + 1}`);
    return { no, place: new URL(name, folder) };
  });
}

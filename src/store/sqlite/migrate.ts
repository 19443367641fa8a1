/** Brings a database to the schema this version knows, one numbered step at a time, each whole or not at all. */
import { readdirSync, readFileSync } from "node:fs";
import { UserError } from "../../domain/errors.ts";
import { invariant } from "../../std/invariant.ts";
import type { Database } from "./platform.ts";

export interface Migration {
  readonly no: number;
  readonly place: URL;
}

const FOLDER = new URL("./migrations/", import.meta.url);
/** "Rota", as the first migration writes it into the file. */
const APPLICATION = 0x526f7461;

/** Forward only. A newer database, or the database of another program, is left alone. */
export function migrate(db: Database, file: string, known = knownMigrations()): void {
  refuseForeign(db, file, known);
  if (userVersion(db) === known.length) return;
  // The lock is taken before the version is read again: of two programs that start at once, one migrates.
  db.exec("begin immediate");
  try {
    for (const { no, place } of known.slice(userVersion(db))) {
      db.exec(readFileSync(place, "utf8"));
      db.exec(`pragma user_version = ${no}`);
    }
    db.exec("commit");
  } catch (error) {
    if (db.isTransaction) db.exec("rollback");
    throw error;
  }
}

/** Refuses a database of a newer version, of a version before the first release, or of another program: it is neither changed nor read. */
export function refuseForeign(db: Database, file: string, known = knownMigrations()): void {
  const [version, application] = [userVersion(db), numberIn(db, "application_id")];
  if (application !== APPLICATION) {
    if (version === 0 && application === 0 && isEmpty(db)) return;
    throw new UserError("STORE_FOREIGN", `${file} is from before the first release of Rota, or of another program`);
  }
  if (version > known.length)
    throw new UserError(
      "STORE_NEWER",
      `${file} has schema ${version}; this version of Rota knows up to ${known.length}`,
    );
}

export const userVersion = (db: Database): number => numberIn(db, "user_version");

const numberIn = (db: Database, pragma: "user_version" | "application_id"): number =>
  Number((db.prepare(`pragma ${pragma}`).get() as Record<string, unknown>)[pragma]);

const isEmpty = (db: Database): boolean => db.prepare("select 1 from sqlite_schema limit 1").get() === undefined;

let migrations: readonly Migration[] | undefined;

/** They are part of the program, and do not change while it runs. Their text is read only when they are applied: mostly never. */
function knownMigrations(): readonly Migration[] {
  migrations ??= migrationsIn(FOLDER);
  return migrations;
}

export function migrationsIn(folder: URL): readonly Migration[] {
  const names = readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort();
  return names.map((name, index) => {
    const no = Number(name.slice(0, 4));
    invariant(no === index + 1, `migration ${name} is number ${index + 1}`);
    return { no, place: new URL(name, folder) };
  });
}

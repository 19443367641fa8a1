/** A file as an older version of Rota would have left it: the same rows in the tables of that time. */
import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type Page, rowsOn } from "../../src/store/sqlite/pages.ts";
import { sumOf } from "../../src/store/sqlite/sums.ts";

const MIGRATIONS = new URL("../../src/store/sqlite/migrations/", import.meta.url);

/** Copies what `from` holds into a new file of this schema, which is from before the ledger had pages. */
export function asOfSchema(from: string, to: string, schema: number): void {
  // Tables stand in the order in which they were made, which is not always that in which they need each other.
  using db = new DatabaseSync(to, { enableForeignKeyConstraints: false });
  const names = readdirSync(MIGRATIONS).sort().slice(0, schema);
  db.exec("pragma journal_mode = wal");
  for (const name of names) db.exec(readFileSync(new URL(name, MIGRATIONS), "utf8"));
  db.exec(`pragma user_version = ${schema}; attach '${from}' as newer`);
  const tables = db
    .prepare("select name from main.sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .all() as { name: string }[];
  for (const { name } of tables) {
    if (name === "ledger") {
      writeEvents(db);
      continue;
    }
    const columns = db.prepare(`select name from pragma_table_info('${name}', 'main')`).all();
    const list = columns.map((column) => column["name"]).join(", ");
    db.exec(`delete from main.${name}; insert into main.${name} (${list}) select ${list} from newer.${name}`);
  }
}

/** One row an event, with its sum where there were sums. */
function writeEvents(db: DatabaseSync): void {
  const columns = "seq, at, run, task, version, attempt, kind, data".split(", ");
  const summed = db.prepare("select 1 from pragma_table_info('ledger', 'main') where name = 'sum'").get() !== undefined;
  const names = summed ? [...columns, "sum"] : columns;
  const insert = db.prepare(
    `insert into main.ledger (${names.join(", ")}) values (${names.map(() => "?").join(", ")})`,
  );
  for (const page of db.prepare("select first, last, run, events from newer.page order by first").all()) {
    for (const { seq, at, run, task, version, attempt, kind, data } of rowsOn(page as unknown as Page)) {
      const row = [seq, at, run, task, version, attempt, kind, data === null ? null : JSON.stringify(data)] as const;
      insert.run(...row, ...(summed ? [sumOf("ledger", ...row)] : []));
    }
  }
}

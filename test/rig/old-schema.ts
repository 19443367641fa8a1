/** A file as an older version of Rota would have left it: the same rows in the tables of that time. */
import { readdirSync, readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

const MIGRATIONS = new URL("../../src/store/sqlite/migrations/", import.meta.url);

/** Copies what `from` holds into a new file of this schema, which is from before there were checksums. */
export function withoutSums(from: string, to: string, schema: number): void {
  using db = new DatabaseSync(to);
  const names = readdirSync(MIGRATIONS).sort().slice(0, schema);
  db.exec("pragma journal_mode = wal");
  for (const name of names) db.exec(readFileSync(new URL(name, MIGRATIONS), "utf8"));
  db.exec(`pragma user_version = ${schema}; attach '${from}' as newer`);
  const tables = db
    .prepare("select name from main.sqlite_schema where type = 'table' and name not like 'sqlite_%'")
    .all() as { name: string }[];
  for (const { name } of tables) {
    const columns = db.prepare(`select name from pragma_table_info('${name}', 'main')`).all();
    const list = columns.map((column) => column["name"]).join(", ");
    db.exec(`delete from main.${name}; insert into main.${name} (${list}) select ${list} from newer.${name}`);
  }
}

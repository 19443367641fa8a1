import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { acquired } from "../conformance.ts";
import { migrate, migrationsIn, userVersion } from "./migrate.ts";
import { openSqliteStore } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "rota-migrate-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let places = 0;
const newFile = (): string => join(root, `${++places}.db`);

/** Migration files, made by the test. */
function migrations(texts: Readonly<Record<string, string>>) {
  const folder = join(root, `migrations-${++places}`);
  mkdirSync(folder);
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text);
  return migrationsIn(pathToFileURL(`${folder}/`));
}

const FIRST = readFileSync(new URL("./migrations/0001_tasks_and_ledger.sql", import.meta.url), "utf8");
const NOTES = "-- breaking\ncreate table note (no integer primary key, text text not null) strict;";
const tablesIn = (db: DatabaseSync): readonly string[] =>
  db
    .prepare("select name from sqlite_schema where type = 'table' order by name")
    .all()
    .map(({ name }) => String(name));

/** A store of ours with some content. */
async function written(file: string): Promise<void> {
  await using store = openSqliteStore(file);
  await acquired(store);
}

describe("a migration", () => {
  test("that the file does not have yet is made, and what is there stays", async () => {
    const file = newFile();
    await written(file);
    using db = new DatabaseSync(file);
    const before = [tablesIn(db), db.prepare("select * from ownership").all()] as const;
    migrate(db, file, migrations({ "0001_first.sql": FIRST, "0002_notes.sql": NOTES }));
    expect(userVersion(db)).toBe(2);
    expect(tablesIn(db)).toEqual([...before[0], "note"].sort());
    expect(db.prepare("select * from ownership").all()).toEqual(before[1]);
  });

  test("is made once, however many come", async () => {
    const file = newFile();
    await written(file);
    const known = migrations({ "0001_first.sql": FIRST, "0002_notes.sql": NOTES });
    using one = new DatabaseSync(file);
    using other = new DatabaseSync(file);
    migrate(one, file, known);
    one.exec("insert into note (text) values ('kept')");
    migrate(other, file, known);
    expect(other.prepare("select text from note").all()).toEqual([{ text: "kept" }]);
  });

  test("that fails leaves the file as it was, with those before it", async () => {
    const file = newFile();
    await written(file);
    using db = new DatabaseSync(file);
    const before = tablesIn(db);
    const known = migrations({
      "0001_first.sql": FIRST,
      "0002_notes.sql": NOTES,
      "0003_wrong.sql": "create table other (no integer) strict; insert into nowhere values (1);",
    });
    expect(() => migrate(db, file, known)).toThrow(/nowhere/);
    expect([userVersion(db), tablesIn(db), db.isTransaction]).toEqual([1, before, false]);
  });

  test("has the number of its place", () => {
    expect(() => migrations({ "0001_first.sql": FIRST, "0003_third.sql": NOTES })).toThrow(
      /0003_third.sql is number 2/,
    );
  });
});

describe("a file that this version does not know", () => {
  test.each([false, true])("of a newer version is neither changed nor read (only reading: %s)", async (readOnly) => {
    const file = newFile();
    await written(file);
    {
      using db = new DatabaseSync(file);
      migrate(db, file, migrations({ "0001_first.sql": FIRST, "0002_notes.sql": NOTES }));
    }
    const before = readFileSync(file);
    expect(() => openSqliteStore(file, { readOnly })).toThrow(
      expect.objectContaining({ code: "STORE_NEWER", message: expect.stringMatching(/has schema 2;.* up to 1/) }),
    );
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test.each([
    ["of the first schema before the release", "create table run (no integer); pragma user_version = 1"],
    ["of the last schema before the release", "create table daybook (one integer); pragma user_version = 8"],
    ["of another program", "create table customer (no integer)"],
    ["of another program that says which", "pragma application_id = 7"],
  ])("%s is neither changed nor read, and it is said what to do", (_, sql) => {
    const file = newFile();
    {
      using db = new DatabaseSync(file);
      db.exec(sql);
    }
    const before = readFileSync(file);
    for (const readOnly of [false, true])
      expect(() => openSqliteStore(file, { readOnly })).toThrow(
        expect.objectContaining({ code: "STORE_FOREIGN", hint: expect.stringMatching(/--state DIR/) }),
      );
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

test("what the schema lets no program write", async () => {
  const file = newFile();
  await written(file);
  using db = new DatabaseSync(file);
  const refused = [
    "update run set state = 'going'",
    "update run set state = 'finished', outcome = 'lost', ended_at = 1",
    "update run set cancelling = 2",
    "update run set state = 'finished', ended_at = 1",
    "insert into session (id, profile, state, joined_at, seen_at, losses, sum) values ('a', '{}', 'asleep', 1, 1, 0, 0)",
  ];
  const run = "insert into run values (1, 'r', 'n', 'd', '{}', 1, 'active', null, null, 0, 0)";
  db.exec(run);
  for (const sql of refused) expect(() => db.exec(sql), sql).toThrow("CHECK constraint failed");
});

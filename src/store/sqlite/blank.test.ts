import {
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { acquired } from "../conformance.ts";
import { layBlank } from "./blank.ts";
import { connect, connectBeside } from "./connect.ts";
import { openSqliteStore } from "./store.ts";

const root = mkdtempSync(join(tmpdir(), "rota-blank-"));
const blank = pathToFileURL(join(root, "blank.db"));
beforeAll(() => openSqliteStore(fileURLToPath(blank))[Symbol.asyncDispose]());
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => {
  const file = join(root, `${++files}`, "rota.db");
  mkdirSync(dirname(file));
  return file;
};

/** Every row of every table, with what the tables are. */
function contentOf(file: string): unknown {
  using db = new DatabaseSync(file, { readOnly: true });
  const schema = db.prepare("select type, name, tbl_name, sql from sqlite_schema order by name").all();
  const tables = schema.filter(({ type }) => type === "table").map(({ name }) => String(name));
  const rows = tables.map((name) => [name, db.prepare(`select * from "${name}"`).all()]);
  const pragmas = ["user_version", "journal_mode", "page_size"].map((name) => db.prepare(`pragma ${name}`).get());
  return { schema, rows, pragmas };
}

test("a new database is the same whether it was copied or made", () => {
  const [copied, made] = [newFile(), newFile()];
  connect(copied, { blank }).close();
  connect(made).close();
  expect(contentOf(copied)).toEqual(contentOf(made));
});

test("a copy is laid down whole, for its owner alone, and nothing beside it", () => {
  const file = newFile();
  layBlank(file, blank);
  expect(readFileSync(file)).toEqual(readFileSync(blank));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(dirname(file))).toEqual(["rota.db"]);
});

test("what is there already is left as it is", async () => {
  const file = newFile();
  {
    await using store = openSqliteStore(file, { blank });
    await acquired(store);
  }
  const before = readFileSync(file);
  layBlank(file, blank);
  expect(readFileSync(file)).toEqual(before);
});

test("a log whose database is gone is not taken for the new one's", async () => {
  const file = newFile();
  const store = openSqliteStore(file, { blank });
  await acquired(store);
  const log = readFileSync(`${file}-wal`);
  await store[Symbol.asyncDispose]();
  rmSync(file);
  writeFileSync(`${file}-wal`, log);
  await using anew = openSqliteStore(file, { blank });
  expect(await anew.owner()).toBeUndefined();
  expect(await anew.check()).toEqual([]);
});

test("what somebody who was killed has left is taken away, and not written to: it may be a database by another name", () => {
  const file = newFile();
  const moved = `${file}.moved`;
  cpSync(blank, moved);
  mkdirSync(`${file}.new-abc`);
  linkSync(moved, join(`${file}.new-abc`, "rota.db"));
  writeFileSync(moved, "theirs");
  connect(file, { blank }).close();
  expect(readFileSync(moved, "utf8")).toBe("theirs");
  expect(contentOf(file)).toEqual(contentOf(fileURLToPath(blank)));
  expect(readdirSync(dirname(file)).filter((name) => name.includes(".new-"))).toEqual([]);
});

test("what somebody has left who was killed when it was there already is taken away by the next, and the database stays", async () => {
  const file = newFile();
  const copy = join(`${file}.new-abc`, "rota.db");
  mkdirSync(dirname(copy));
  cpSync(blank, copy);
  linkSync(copy, file);
  // Another was quicker, and this one was killed before it could say so.
  mkdirSync(`${file}.new-def`);
  await openSqliteStore(file, { blank })[Symbol.asyncDispose]();
  expect(readdirSync(dirname(file))).toEqual(["rota.db"]);
  expect(contentOf(file)).toEqual(contentOf(fileURLToPath(blank)));
});

test("whoever opens a new database has the copy, and who only joins somebody that has it open lays none", () => {
  const marked = pathToFileURL(join(root, "marked.db"));
  cpSync(blank, marked);
  {
    using db = new DatabaseSync(fileURLToPath(marked));
    db.exec("create table mark (no integer)");
  }
  const [first, second] = [newFile(), newFile()];
  using db = connect(first, { blank: marked });
  expect(db.prepare("select count(*) as count from sqlite_schema where name = 'mark'").get()).toEqual({ count: 1 });
  using beside = connectBeside(second, "full");
  expect(beside.prepare("select count(*) as count from sqlite_schema").get()).toEqual({ count: 0 });
});

test("where there is nothing to copy, nothing is laid down", () => {
  const file = newFile();
  layBlank(file, new URL("./none.db", blank));
  expect(existsSync(file)).toBe(false);
});

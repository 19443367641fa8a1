import { existsSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { LogRoom } from "./log-room.ts";
import { REAL } from "./platform.ts";

const root = mkdtempSync(join(tmpdir(), "rota-log-room-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let files = 0;
const newFile = (): string => join(root, `${++files}.db`);

const FRAME = 24 + 4_096;
const pagesIn = (file: string): number => Math.floor(statSync(`${file}-wal`).size / FRAME);

function database(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  db.exec("pragma journal_mode = wal; pragma synchronous = normal; pragma wal_autocheckpoint = 0");
  db.exec("create table if not exists note (no integer primary key, text text not null)");
  return db;
}

const positionOf = (db: DatabaseSync): number =>
  (db.prepare("pragma wal_checkpoint(noop)").get() as { log: number }).log;

test("there is always room ahead of what is written, up to where the log begins anew", () => {
  const file = newFile();
  using db = database(file);
  using room = new LogRoom(db, REAL.files, file, 1_000);
  const insert = db.prepare("insert into note (text) values (?)");
  for (let no = 0; no < 300; no++) {
    insert.run("x".repeat(3_000));
    room.keep();
    const position = positionOf(db);
    if (position < 900) expect(pagesIn(file), `after ${position} pages`).toBeGreaterThan(position);
    expect(pagesIn(file)).toBeLessThanOrEqual(Math.max(1_000, position) + 1);
  }
});

test("a log with little in it gets little room, and one with much in it more", () => {
  const file = newFile();
  using db = database(file);
  using room = new LogRoom(db, REAL.files, file, 4_000);
  const insert = db.prepare("insert into note (text) values (?)");
  const ahead = (commits: number): number => {
    for (let no = 0; no < commits; no++) {
      insert.run("x".repeat(3_000));
      room.keep();
    }
    return pagesIn(file) - positionOf(db);
  };
  expect(ahead(1)).toBeLessThanOrEqual(32);
  expect(Math.max(...Array.from({ length: 20 }, () => ahead(20)))).toBeGreaterThan(128);
});

test("what others write at the same time is not overwritten, and a log with room in it is read as it was written", () => {
  const file = newFile();
  const db = database(file);
  const other = database(file);
  const room = new LogRoom(db, REAL.files, file, 4_000);
  for (let no = 0; no < 400; no++) {
    const [writer, name] = no % 3 === 0 ? [other, "other"] : [db, "own"];
    writer.prepare("insert into note (text) values (?)").run(`${name} ${no} ${"x".repeat(2_000)}`);
    room.keep();
  }
  // A reader that opens the store later has only the file to go by.
  using late = new DatabaseSync(file);
  expect(late.prepare("select count(*) as count from note").get()).toEqual({ count: 400 });
  expect(late.prepare("pragma integrity_check").get()).toEqual({ integrity_check: "ok" });
  room[Symbol.dispose]();
  other.close();
  db.close();
});

test("where the log cannot be made longer, everything else goes on", () => {
  const file = newFile();
  using db = database(file);
  using room = new LogRoom(db, REAL.files, `${file}-elsewhere`, 1_000);
  for (let no = 0; no < 10; no++) {
    db.prepare("insert into note (text) values (?)").run("x");
    room.keep();
  }
  expect(existsSync(`${file}-elsewhere-wal`)).toBe(false);
});

test("a log that has become long is folded back into the database, and begins anew", () => {
  const file = newFile();
  using db = database(file);
  using room = new LogRoom(db, REAL.files, file, 100);
  const insert = db.prepare("insert into note (text) values (?)");
  let folded = 0;
  for (let no = 0; no < 400; no++) {
    insert.run("x".repeat(3_000));
    const before = positionOf(db);
    room.keep();
    const { log, checkpointed } = db.prepare("pragma wal_checkpoint(noop)").get() as Record<string, number>;
    if (log === checkpointed) folded++;
    expect(before).toBeLessThan(150);
  }
  expect(folded).toBeGreaterThan(5);
  expect(pagesIn(file)).toBeLessThan(160);
  expect(db.prepare("select count(*) as count from note").get()).toEqual({ count: 400 });
});

test("however large commits are, it is folded before SQLite would do it within one", () => {
  const file = newFile();
  using db = database(file);
  using room = new LogRoom(db, REAL.files, file, 1_000);
  const insert = db.prepare("insert into note (text) values (?)");
  let most = 0;
  for (let no = 0; no < 300; no++) {
    db.exec("begin");
    for (let page = 0; page < 60; page++) insert.run("x".repeat(3_900));
    db.exec("commit");
    most = Math.max(most, positionOf(db));
    room.keep();
  }
  expect(most).toBeLessThan(2_000);
});

test("while a reader has a transaction open, it is not folded, and everything else goes on", () => {
  const file = newFile();
  using db = database(file);
  using reader = database(file);
  using room = new LogRoom(db, REAL.files, file, 20);
  reader.exec("begin; select * from note");
  for (let no = 0; no < 100; no++) {
    db.prepare("insert into note (text) values (?)").run("x".repeat(3_000));
    room.keep();
  }
  expect(positionOf(db)).toBeGreaterThan(100);
  reader.exec("commit");
  for (let no = 0; no < 10; no++) {
    db.prepare("insert into note (text) values (?)").run("x");
    room.keep();
  }
  expect(positionOf(db)).toBeLessThan(40);
});

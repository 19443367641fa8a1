import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { folding } from "./fold.ts";

const root = mkdtempSync(join(tmpdir(), "rota-fold-"));
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

test("a log that has become long is folded back into the database, and begins anew", () => {
  const file = newFile();
  using db = database(file);
  const fold = folding(db, 100);
  const insert = db.prepare("insert into note (text) values (?)");
  let folded = 0;
  for (let no = 0; no < 400; no++) {
    insert.run("x".repeat(3_000));
    const before = positionOf(db);
    fold();
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
  const fold = folding(db, 1_000);
  const insert = db.prepare("insert into note (text) values (?)");
  let most = 0;
  for (let no = 0; no < 300; no++) {
    db.exec("begin");
    for (let page = 0; page < 60; page++) insert.run("x".repeat(3_900));
    db.exec("commit");
    most = Math.max(most, positionOf(db));
    fold();
  }
  expect(most).toBeLessThan(2_000);
});

test("while another connection reads, it is not folded, and everything else goes on", () => {
  const file = newFile();
  using db = database(file);
  using reader = database(file);
  const fold = folding(db, 20);
  reader.exec("begin; select * from note");
  for (let no = 0; no < 100; no++) {
    db.prepare("insert into note (text) values (?)").run("x".repeat(3_000));
    fold();
  }
  expect(positionOf(db)).toBeGreaterThan(100);
  reader.exec("commit");
  for (let no = 0; no < 10; no++) {
    db.prepare("insert into note (text) values (?)").run("x");
    fold();
  }
  expect(positionOf(db)).toBeLessThan(40);
});

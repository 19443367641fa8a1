import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { task } from "../../../test/rig/builders.ts";
import { claimed, LedgerFixture } from "../../../test/rig/ledger-fixture.ts";
import { ALWAYS } from "../../../test/rig/stores.ts";
import { acquired } from "../conformance.ts";
import { asUserError } from "./failure.ts";
import { openSqliteStore } from "./store.ts";

const ofSqlite = (errcode: number, message: string): Error =>
  Object.assign(new Error(message), { code: "ERR_SQLITE_ERROR", errcode });
const ofSystem = (code: string): Error => Object.assign(new Error(`${code}: no`), { code, syscall: "open" });

test.each([
  [ofSqlite(10 | (3 << 8), "disk I/O error"), "STORE_FAILED", "f: disk I/O error while writing"],
  [ofSqlite(10 | (4 << 8), "disk I/O error"), "STORE_FAILED", "f: disk I/O error while syncing"],
  [ofSqlite(10, "disk I/O error"), "STORE_FAILED", "f: disk I/O error"],
  [ofSqlite(13, "database or disk is full"), "STORE_FAILED", "f: database or disk is full"],
  [ofSqlite(14, "unable to open database file"), "STATE_UNUSABLE", "f: unable to open database file"],
  [ofSqlite(11, "malformed"), "STORE_CORRUPT", "f: malformed"],
  [ofSystem("EIO"), "STORE_FAILED", "f: EIO: no"],
  [ofSystem("EMFILE"), "MACHINE_SHORT", "f: EMFILE: no"],
  [ofSystem("EACCES"), "STATE_UNUSABLE", "f: EACCES: no"],
])("%s is %s, also while the store is opened", (error, code, message) => {
  expect(asUserError(error, "f", "STATE_UNUSABLE")).toMatchObject({ code, message, cause: error });
});

test.each([
  ["by itself", undefined],
  ["by its thread", ALWAYS],
])("what is written %s into a file that was removed is not answered", async (_, aside) => {
  const file = join(mkdtempSync(join(tmpdir(), "rota-gone-")), "state", "rota.db");
  const store = openSqliteStore(file, aside === undefined ? {} : { aside });
  const fixture = new LedgerFixture();
  const run = fixture.submit([task("a")]);
  const epoch = await acquired(store);
  await store.commit(fixture.pending.take(epoch));
  const batch = fixture.write(run, 0, claimed).pending.take(epoch);
  rmSync(join(file, ".."), { recursive: true });
  const told = { code: "STATE_UNUSABLE", message: expect.stringContaining("was removed or replaced") };
  await expect(store.commit(batch)).rejects.toMatchObject(told);
  await expect(store.commit(batch)).rejects.toMatchObject(told);
  // What it cannot bring to the disk any more was refused already.
  await Promise.resolve(store[Symbol.asyncDispose]()).catch(() => {});
});

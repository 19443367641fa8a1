/**
 * `node scripts/blank.mjs DIST`: makes the empty database that every new one is a copy of (`src/store/sqlite/blank.ts`), as the program itself
 * would make it. Called by the build; a program without it makes each by itself, and takes longer.
 */
import { chmodSync, copyFileSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const store = resolve(process.argv[2] ?? "dist", "store/sqlite");
const { connect } = await import(pathToFileURL(join(store, "connect.js")).href);

const place = mkdtempSync(join(tmpdir(), "rota-build-"));
try {
  const made = join(place, "rota.db");
  const db = connect(made);
  // As small as can be: it is written whole, and waited for.
  db.exec("vacuum");
  // Whoever closes it last folds the log back, so that all of it is in the one file.
  db.close();
  const copy = join(store, "blank.db.new");
  copyFileSync(made, copy);
  // For whoever may run the program; the copies are their owners' alone.
  chmodSync(copy, 0o644);
  // Under its name only when it is whole: what is there is believed.
  renameSync(copy, join(store, "blank.db"));
} finally {
  rmSync(place, { recursive: true, force: true });
}

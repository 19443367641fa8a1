/**
 * A process that does every verb to the store in a file, and says on standard output after each that it was answered. It is there to be
 * killed. A stubborn one goes on with the next verb when one has failed; with `aside` a thread of its own does the commits; with `normal` they
 * are synced beside everything else, by a clock that is in a hurry.
 */
import { writeSync } from "node:fs";
import { instant } from "../../src/domain/time.ts";
import { systemClock } from "../../src/effects/clock.ts";
import type { SqliteOptions } from "../../src/store/sqlite/connect.ts";
import { SYNC_WITHIN } from "../../src/store/sqlite/log/sync.ts";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { ALWAYS } from "./stores.ts";
import { perform } from "./verbs.ts";

const say = (text: string): void => void writeSync(1, `${text}\n`);
/** So much time passes whenever it is asked that what was written falls due at once, and is waited for before it is answered. */
function hurried(): SqliteOptions {
  let asked = 0;
  return { durability: "normal", clock: { ...systemClock(), now: () => instant(2 * SYNC_WITHIN * ++asked) } };
}
const [file = "", from = "0", ...ways] = process.argv.slice(2);
{
  const written = ways.includes("aside") ? { aside: ALWAYS } : {};
  const synced = ways.includes("normal") ? hurried() : {};
  await using store = openSqliteStore(file, { foldAfter: 1, ...written, ...synced });
  say("opened");
  const failed = ways.includes("stubborn") ? (name: string) => say(`failed: ${name}`) : undefined;
  await perform(store, (done, name) => say(`${done} ${name}`), Number(from), failed);
}
say("closed");

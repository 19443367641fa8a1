/**
 * A process that does every verb to the store in a file, and says on standard output after each that it was answered. It is there to be
 * killed. A stubborn one goes on with the next verb when one has failed.
 */
import { writeSync } from "node:fs";
import { openSqliteStore } from "../../src/store/sqlite/store.ts";
import { perform } from "./verbs.ts";

const say = (text: string): void => void writeSync(1, `${text}\n`);
const [file = "", from = "0", stubborn] = process.argv.slice(2);
{
  await using store = openSqliteStore(file);
  say("opened");
  const failed = stubborn === undefined ? undefined : (name: string) => say(`failed: ${name}`);
  await perform(store, (done, name) => say(`${done} ${name}`), Number(from), failed);
}
say("closed");

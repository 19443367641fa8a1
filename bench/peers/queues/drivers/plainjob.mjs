/** plainjob on better-sqlite3, with every commit synced: it turns that down by itself, so it is turned up again afterwards. */
import { join } from "node:path";
import Database from "better-sqlite3";
import { better, defineQueue, defineWorker } from "plainjob";

const BULK = 1_000;
/** It can only be polled: every 5 ms that takes 5 % of a core while nothing happens, every millisecond 13 %. */
const POLL_MS = { calm: 5, busy: 1 };
const quiet = { error: console.error, warn() {}, info() {}, debug() {} };

export const settings = { journal_mode: "wal", synchronous: "full", workers: 1, pollIntervall: POLL_MS.calm };

export async function open({ directory, queue: type, mode }) {
  const database = new Database(join(directory, `${type}.db`));
  const queue = defineQueue({ connection: better(database), logger: quiet });
  database.pragma("synchronous = full");
  let worker;
  let running;
  return {
    async fill(count) {
      for (let first = 0; first < count; first += BULK) {
        queue.addMany(
          type,
          Array.from({ length: Math.min(BULK, count - first) }, () => ({})),
        );
      }
    },
    one: async () => queue.add(type, {}),
    async work(began, ended) {
      worker = defineWorker(type, () => began(), {
        queue,
        logger: quiet,
        pollIntervall: POLL_MS[mode],
        onCompleted: ended,
      });
      running = worker.start();
    },
    async close() {
      await worker?.stop();
      await running;
      queue.close();
    },
  };
}

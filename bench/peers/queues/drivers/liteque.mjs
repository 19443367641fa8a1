/** liteque on better-sqlite3, with every commit synced. */
import { join } from "node:path";
import { buildDBClient, Runner, SqliteQueue } from "liteque";

const POLL_MS = 1;

export const settings = { journal_mode: "wal", synchronous: "full", concurrency: 1, pollIntervalMs: POLL_MS };

export async function open({ directory, queue: name }) {
  const db = buildDBClient(join(directory, `${name}.db`), { runMigrations: true, walEnabled: true });
  // It turns this down by itself, and offers no other way to turn it up again.
  db.session.client.pragma("synchronous = full");
  const queue = new SqliteQueue(name, db, { defaultJobArgs: { numRetries: 0 }, keepFailedJobs: false });
  let runner;
  let running;
  return {
    async fill(count) {
      for (let no = 0; no < count; no++) await queue.enqueue({});
    },
    one: () => queue.enqueue({}),
    async work(began, ended) {
      runner = new Runner(
        queue,
        { run: async () => began(), onComplete: async () => ended(), onError: async () => undefined },
        { concurrency: 1, pollIntervalMs: POLL_MS, timeoutSecs: 60, validator: { parse: (data) => data } },
      );
      running = runner.run();
    },
    async close() {
      runner?.stop();
      await running;
    },
  };
}

/** DBOS: workflows without steps on a queue, polled as often as is sensible; enqueued side by side, since there is no call for many. */
import { DBOS } from "@dbos-inc/dbos-sdk";
import { Pool } from "pg";

const POLL_MS = 10;
const CONCURRENCY = 100;
const POOL_SIZE = 20;
const AT_ONCE = 50;

export const settings = {
  workerConcurrency: CONCURRENCY,
  minPollingIntervalMs: POLL_MS,
  systemDatabasePoolSize: POOL_SIZE,
};

let began = () => undefined;
const noop = DBOS.registerWorkflow(async () => began(), { name: "noop" });
let launched = false;

export async function open({ url, queue: name }) {
  if (!launched) {
    const where = { systemDatabaseUrl: url, systemDatabasePoolSize: POOL_SIZE };
    DBOS.setConfig({ name: "bench", ...where, logLevel: "error", runAdminServer: false });
    await DBOS.launch();
    launched = true;
  }
  const pool = new Pool({ connectionString: url, max: 1 });
  const start = () => DBOS.startWorkflow(noop, { queueName: name })();
  const register = (workerConcurrency) =>
    DBOS.registerQueue(name, { workerConcurrency, minPollingIntervalMs: POLL_MS, onConflict: "always_update" });
  return {
    async fill(count) {
      for (let first = 0; first < count; first += AT_ONCE) {
        await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - first) }, start));
      }
    },
    one: start,
    async work(hear) {
      began = hear;
      await register(CONCURRENCY);
    },
    async left() {
      const text =
        "select count(*)::int as left from dbos.workflow_status where queue_name = $1 and status <> 'SUCCESS'";
      return (await pool.query(text, [name])).rows[0].left;
    },
    async close() {
      await pool.end();
    },
  };
}

export const shutdown = () => DBOS.shutdown();

/** pg-boss: a loop of fetch and complete in batches, or its own workers with bursts and LISTEN/NOTIFY; flows for graphs. */
import { PgBoss } from "pg-boss";

const BATCH = 500;
const BULK = 5_000;

export const settings = {
  fetch: { batchSize: BATCH },
  work: { batchSize: BATCH, burstWhenBatchFull: true, localConcurrency: 2, pollingIntervalSeconds: 0.5 },
  latency: { useListenNotify: true, notify: true, batchSize: 1, localConcurrency: 1, pollingIntervalSeconds: 0.5 },
};

export async function open({ url, queue: name, goal, mode }) {
  const isLatency = goal === "latency";
  const boss = new PgBoss({
    connectionString: url,
    schedule: false,
    supervise: false,
    ...(isLatency && { useListenNotify: true }),
  });
  boss.on("error", (error) => process.stderr.write(`pg-boss: ${error}\n`));
  await boss.start();
  await boss.createQueue(name, isLatency ? { notify: true } : {});
  let over = false;
  let hasFlows = false;
  let loop;
  const fetchAll = async (began, ended) => {
    while (!over) {
      const jobs = await boss.fetch(name, { batchSize: BATCH });
      if (jobs.length === 0) {
        await new Promise((resolve) => void setTimeout(resolve, 1));
        continue;
      }
      for (const _ of jobs) began();
      await boss.complete(
        name,
        jobs.map(({ id }) => id),
      );
      for (const _ of jobs) ended();
      // Jobs that wait for others are released every few seconds, or at this call.
      if (hasFlows) await boss.resolveFlow();
    }
  };
  return {
    async fill(count) {
      for (let first = 0; first < count; first += BULK) {
        await boss.insert(
          name,
          Array.from({ length: Math.min(BULK, count - first) }, () => ({ data: {} })),
        );
      }
    },
    async fillGraph({ shape, count, size }) {
      hasFlows = true;
      for (let graph = 0; graph < count; graph++) {
        const needs = (no) =>
          shape === "chains" ? (no === 0 ? [] : [no - 1]) : no < size - 1 ? [] : [...Array(no).keys()];
        await boss.flow(
          Array.from({ length: size }, (_, no) => ({
            ref: `j${no}`,
            name,
            dependsOn: needs(no).map((each) => `j${each}`),
          })),
        );
      }
    },
    one: () => boss.send(name, {}),
    async work(began, ended) {
      if (mode === "fetch" && !isLatency) {
        loop = fetchAll(began, ended);
        return;
      }
      const handle = async (jobs) => {
        for (const _ of jobs) began();
      };
      await boss.work(name, isLatency ? settings.latency : settings.work, handle);
    },
    ...(mode !== "fetch" && {
      // It says nothing of its own when jobs are done.
      async left() {
        const text = "select count(*)::int as left from pgboss.job where name = $1 and state < 'completed'";
        return (await boss.getDb().executeSql(text, [name])).rows[0].left;
      },
    }),
    async close() {
      over = true;
      await loop;
      await boss.stop({ graceful: false });
    },
  };
}

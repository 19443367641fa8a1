/** graphile-worker as its page on performance has it: a local queue and batched completion; LISTEN/NOTIFY is always on. */
import { Logger, makeWorkerUtils, run, WorkerPreset } from "graphile-worker";
import { Pool } from "pg";

const quiet = new Logger(() => () => undefined);
const THROUGHPUT = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};
/** Without a local queue a notice goes straight to a worker that waits. */
const LATENCY = { concurrentJobs: 4, maxPoolSize: 10, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

export const settings = { throughput: THROUGHPUT, latency: LATENCY };

export async function open({ url, queue: task, goal }) {
  const worker = goal === "latency" ? LATENCY : THROUGHPUT;
  const counting = new Pool({ connectionString: url, max: 1 });
  const preset = { extends: [WorkerPreset], worker: { ...worker, connectionString: url, logger: quiet } };
  const utils = await makeWorkerUtils({ preset });
  await utils.migrate();
  let runner;
  return {
    async fill(count) {
      for (let first = 0; first < count; first += 5_000) {
        await utils.addJobs(
          Array.from({ length: Math.min(5_000, count - first) }, () => ({ identifier: task, payload: {} })),
        );
      }
    },
    one: () => utils.addJob(task, {}),
    async work(began) {
      runner = await run({ preset, taskList: { [task]: async () => began() } });
    },
    async left() {
      const { rows } = await counting.query("select count(*)::int as left from graphile_worker._private_jobs");
      return rows[0].left;
    },
    async close() {
      await runner?.stop();
      await utils.release();
      await counting.end();
    },
  };
}

/** BullMQ: bulk adding, one worker with many jobs at once, jobs removed as they complete, flows for graphs. */
import { FlowProducer, Queue, Worker } from "bullmq";
import { Redis } from "ioredis";

const CONCURRENCY = 100;
const BULK = 1_000;

export const settings = { concurrency: CONCURRENCY, bulk: BULK, removeOnComplete: true, removeOnFail: true };

export async function open({ url, queue: name }) {
  const connect = () => new Redis(url, { maxRetriesPerRequest: null });
  const connections = [connect(), connect(), connect()];
  const [adding, working, flowing] = connections;
  const options = { removeOnComplete: true, removeOnFail: true };
  const queue = new Queue(name, { connection: adding, defaultJobOptions: options, streams: { events: { maxLen: 0 } } });
  await queue.waitUntilReady();
  let worker;

  const addTrees = async (trees) => {
    const flows = new FlowProducer({ connection: flowing });
    const job = (children) => ({
      name: "job",
      queueName: name,
      data: {},
      opts: options,
      ...(children && { children }),
    });
    const chain = (length) => (length === 1 ? job() : job([chain(length - 1)]));
    const fan = (size) => job(Array.from({ length: size - 1 }, () => job()));
    const make = trees.shape === "chains" ? chain : fan;
    await flows.addBulk(Array.from({ length: trees.count }, () => make(trees.size)));
    await flows.close();
  };

  return {
    async fill(count) {
      for (let first = 0; first < count; first += BULK) {
        await queue.addBulk(Array.from({ length: Math.min(BULK, count - first) }, () => ({ name: "job", data: {} })));
      }
    },
    fillGraph: addTrees,
    one: () => queue.add("job", {}),
    /** Calls `began` when a job starts and `ended` when it is written down that it is done. */
    async work(began, ended) {
      worker = new Worker(name, async () => began(), { connection: working, concurrency: CONCURRENCY });
      worker.on("completed", ended);
      await worker.waitUntilReady();
    },
    async close() {
      await worker?.close();
      await queue.obliterate({ force: true });
      await queue.close();
      for (const each of connections) each.disconnect();
    },
  };
}

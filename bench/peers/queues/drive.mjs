/**
 * Measures one queue in a process of its own: `node drive.mjs NAME MEASURE COUNT OPTIONS` prints one JSON object. Every queue is
 * asked for the same things in the same way; what is particular to it is in `drivers`.
 */
import { setTimeout as pause } from "node:timers/promises";
import { idleMs, WARM_UP_SAMPLES } from "../../rig.ts";

const LOOK_EVERY_MS = 2;

const [name, measure, count, options] = process.argv.slice(2);
const driver = await import(`./drivers/${name}.mjs`);
const { url: server, warmUp, graph, ...given } = JSON.parse(options);

/** Nothing of the measurement before is in a database of its own. */
async function ownDatabase(url) {
  const { Client } = await import("pg");
  const database = `bench_${process.pid}_${Date.now()}`;
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(`create database ${database}`);
  const own = new URL(url);
  own.pathname = `/${database}`;
  const drop = async () => {
    await client.query(`drop database ${database} with (force)`);
    await client.end();
  };
  return { url: own.href, drop };
}

/** Jobs are queued before the clock starts; it stops when all of them are written down as done. */
async function throughput(jobs, queueName, options) {
  const queue = await driver.open({ ...given, ...options, queue: queueName });
  const filling = performance.now();
  await (options.graph === undefined ? queue.fill(jobs) : queue.fillGraph(options.graph));
  const start = performance.now();
  const done = Promise.withResolvers();
  let [began, ended] = [0, 0];
  const countBegun = () => void (++began === jobs && queue.left !== undefined && done.resolve());
  const countEnded = () => void (++ended === jobs && queue.left === undefined && done.resolve());
  await queue.work(countBegun, countEnded);
  await done.promise;
  while (queue.left !== undefined && (await queue.left()) > 0) await pause(LOOK_EVERY_MS);
  const end = performance.now();
  await queue.close();
  const perSecond = (ms) => (jobs * 1_000) / ms;
  return { perSecond: perSecond(end - start), submitPerSecond: perSecond(start - filling) };
}

/** One job at a time into a queue that does nothing else, from before it is added until its handler starts. */
async function latency(samples, { url }) {
  const queue = await driver.open({ ...given, url, queue: "single", goal: "latency" });
  let began = Promise.withResolvers();
  await queue.work(
    () => began.resolve(performance.now()),
    () => undefined,
  );
  await pause(1_000);
  const times = [];
  for (let no = 0; no < samples + WARM_UP_SAMPLES; no++) {
    began = Promise.withResolvers();
    if (idleMs(no) > 0) await pause(idleMs(no));
    const start = performance.now();
    const added = queue.one();
    times.push((await began.promise) - start);
    await added;
  }
  await queue.close();
  return { times: times.slice(WARM_UP_SAMPLES) };
}

async function measured(url) {
  if (measure === "latency") return latency(Number(count), { url });
  await throughput(warmUp, "warmup", { url, graph });
  return throughput(Number(count), "jobs", { url, graph });
}

const database = server?.startsWith("postgres:") ? await ownDatabase(server) : undefined;
const result = await measured(database?.url ?? server);
await driver.shutdown?.();
// Connections that a pool still holds are cut off with their database, and have nothing more to say.
process.on("uncaughtException", () => undefined);
await database?.drop();
process.stdout.write(`${JSON.stringify({ ...result, settings: driver.settings })}\n`, () => process.exit(0));

/** Measurements of the engine, each in a process of its own: `node parts.ts NAME ARGS…` prints one JSON object. */
import { rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { runId } from "../../src/domain/ids.ts";
import type { RunNo, runNo } from "../../src/domain/run.ts";
import { hashToken } from "../../src/effects/random.ts";
import { parsePlan } from "../../src/plan/plan.ts";
import { migrate } from "../../src/store/sqlite/migrate.ts";
import { median } from "../rig.ts";
import { chains, directory, file, manifest, openEngine } from "./open.ts";

const WARM_UP = 40_000;
/** Short runs are repeated until about as many tasks have gone through: one of them is over before the clock has settled. */
const REPEATED = 40_000;

async function timed(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** The whole way of `count` no-op tasks through engine and store, `batch` at a time. */
async function throughput(count: number, batch: number) {
  const { engine } = await openEngine(batch);
  // The first tens of thousands of tasks pay for the compiler, whatever comes after them.
  await engine.idle(
    await engine.submit({ ...manifest(), id: runId("warm-up"), name: "warm-up" }, chains(WARM_UP, batch)),
  );
  const times: number[] = [];
  for (let round = 0; round < Math.max(1, Math.min(10, REPEATED / count)); round++) {
    const run = await engine.submit({ ...manifest(), id: runId(`bench-${round}`) }, chains(count, batch));
    times.push(await timed(() => engine.idle(run)));
  }
  const ms = median(times);
  return { ms, usPerTask: (ms * 1_000) / count };
}

const prepareByHand = (db: DatabaseSync) => ({
  insertTask: db.prepare(`
    insert into task (run, no, state, version, attempt, failures, expiries, approved, since,
                      not_before, worker, expires_at, token_hash, lost_by, lane, detail, sum)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`),
  updateTask: db.prepare(`
    update task
    set state = ?, version = ?, attempt = ?, failures = ?, expiries = ?, approved = ?, since = ?,
        not_before = ?, worker = ?, expires_at = ?, token_hash = ?, lost_by = ?, lane = ?, detail = ?, sum = ?
    where run = ? and no = ? and version = ?`),
  insertEvent: db.prepare(`
    insert into ledger (seq, at, run, task, version, attempt, kind, data, sum) values (?, ?, ?, ?, ?, ?, ?, ?, ?)`),
});

/** One row an event, which is how one would do it by hand. */
const LEDGER = `
  create table ledger (
    seq integer primary key, at integer not null, run integer not null, task integer, version integer, attempt integer,
    kind text not null, data text, sum integer not null
  ) strict`;

/** The floor: the same by hand, in batches of the same size, with nothing to decide and no caller to answer. */
function byHand(count: number, batch: number) {
  const db = new DatabaseSync(file);
  db.exec("pragma journal_mode = wal; pragma synchronous = full; pragma wal_autocheckpoint = 4000");
  migrate(db, file);
  db.exec(LEDGER);
  const sql = prepareByHand(db);
  const hash = hashToken("one token is as good as another here");
  const success = JSON.stringify({ outcome: { kind: "success", durationMs: 0 } });
  let seq = 0;
  const claim = (no: number, at: number): void => {
    const worker = `inline/${no % batch}`;
    sql.insertTask.run(1, no, "claimed", 1, 1, 0, 0, 0, at, null, worker, at + 30_000, hash, null, null, null, 0);
    const data = { worker, deadline: at + 30_000, evidence: { lane: "normal", rank: count - no, waitedMs: 1 } };
    sql.insertEvent.run(++seq, at, 1, no, 1, 1, "claimed", JSON.stringify(data), 0);
  };
  const finish = (no: number, at: number): void => {
    sql.updateTask.run("succeeded", 2, 1, 0, 0, 0, at, null, null, null, null, null, null, success, 0, 1, no, 1);
    sql.insertEvent.run(++seq, at, 1, no, 2, 1, "succeeded", success, 0);
  };
  const start = performance.now();
  for (let first = 0; first < count + batch; first += batch) {
    db.exec("begin immediate");
    const at = Date.now();
    for (let no = Math.max(0, first - batch); no < Math.min(first, count); no++) finish(no, at);
    for (let no = first; no < Math.min(first + batch, count); no++) claim(no, at);
    db.exec("commit");
  }
  const ms = performance.now() - start;
  db.close();
  return { ms, usPerTask: (ms * 1_000) / count };
}

/** What a task that waits costs in memory, once everything that can be collected is. */
async function memory(count: number) {
  const { engine } = await openEngine(1);
  engine.pause();
  const collect = (): number => {
    for (let times = 0; times < 4; times++) globalThis.gc?.();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = collect();
  const run = await engine.submit(manifest(), chains(count, 100));
  const bytes = collect() - before;
  return { bytesPerTask: bytes / count, tasks: run.tasks.length };
}

/** A plan of `count` tasks as JSON, read as bytes and checked, against `JSON.parse` on the same text. */
async function load(count: number) {
  const tasks: Record<string, unknown> = {};
  for (let no = 0; no < count; no++) tasks[`task-${no}`] = { run: "true", needs: no === 0 ? [] : [`task-${no - 1}`] };
  const text = JSON.stringify({ name: "large", tasks });
  const bytes = Buffer.from(text);
  const parseMs = await timed(() => JSON.parse(text));
  let loaded = 0;
  const loadMs = await timed(async () => {
    const result = await parsePlan(bytes, "large.json");
    loaded = result.ok ? result.value.plan.tasks.length : 0;
  });
  return { parseMs, loadMs, ratio: loadMs / parseMs, megabytes: bytes.length / 1e6, loaded };
}

/** From opening the store to the first task being ready to go, with `count` unfinished tasks in it. */
async function restart(count: number) {
  {
    const { engine, store } = await openEngine(100);
    engine.pause();
    await engine.submit(manifest(), chains(count, 100));
    await engine.close();
    await store[Symbol.asyncDispose]();
  }
  let ready = 0;
  const ms = await timed(async () => {
    const { engine } = await openEngine(100);
    engine.pause();
    const run = await engine.resume(1 as RunNo satisfies ReturnType<typeof runNo>);
    ready = run.counts.ready;
  });
  return { ms, ready };
}

const PARTS: Readonly<Record<string, (...sizes: number[]) => unknown>> = { throughput, byHand, memory, load, restart };

const [part = "", ...sizes] = process.argv.slice(2);
const measure = PARTS[part];
if (measure === undefined) throw new Error(`There is no part "${part}"`);
const result = await measure(...sizes.map(Number));
rmSync(directory, { recursive: true, force: true });
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit(0);

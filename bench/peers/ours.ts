/** Rota's engine in process, asked for what its peers are asked for: `node ours.ts MEASURE ARGS…` prints one JSON object. */
import { rmSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { runId, taskId } from "../../src/domain/ids.ts";
import { SPEC_DEFAULTS, type TaskSpec } from "../../src/domain/spec.ts";
import type { Engine } from "../../src/engine/engine.ts";
import { directory, manifest, openEngine } from "../engine/open.ts";
import { idleMs, WARM_UP_SAMPLES } from "../rig.ts";
import { needsOf } from "./shapes.ts";

/** As many as pg-boss has out: two workers with 500 each. */
const WORKERS = 1_000;
const BENCH = { by: "bench" };

const specs = (shape: string, count: number, size: number): readonly TaskSpec[] =>
  needsOf(shape, count, size).map((needs, no) => ({
    ...SPEC_DEFAULTS,
    id: taskId(`task-${no}`),
    run: { shell: "true" },
    needs: needs.map((each) => taskId(`task-${each}`)),
  }));

/**
 * As its peers are measured: the same graph with as many tasks to warm up, and then again. In several runs, small ones first: what the compiler
 * has made of one run is thrown away with the second, when it sees that there can be more. The last is large, so that memory has grown.
 */
const WARM_UP_PARTS = [1, 1, 1, 1, 1, 1, 1, 13];
const WARM_UP_WHOLE = 20;

async function throughput(shape: string, jobs: number, size: number, warmUp: number) {
  const { engine } = await openEngine(WORKERS);
  for (const [no, part] of WARM_UP_PARTS.entries()) {
    const count = Math.ceil((warmUp * part) / WARM_UP_WHOLE);
    await drain(engine, `warm-up-${no}`, specs(shape, count, Math.min(size, count)));
  }
  return drain(engine, "bench", specs(shape, jobs, size));
}

/** Tasks are submitted before the clock starts, and it stops when all of them are written down as done. */
async function drain(engine: Engine, name: string, tasks: readonly TaskSpec[]) {
  await engine.api.hold({ of: "scheduler" }, BENCH);
  const submitting = performance.now();
  const run = await engine.submit({ ...manifest(), id: runId(name), name }, tasks);
  const start = performance.now();
  await engine.api.letGo({ of: "scheduler" }, BENCH);
  await engine.idle(run);
  const end = performance.now();
  const perSecond = (ms: number): number => (tasks.length * 1_000) / ms;
  return { perSecond: perSecond(end - start), submitPerSecond: perSecond(start - submitting) };
}

async function latency(samples: number) {
  let began = Promise.withResolvers<number>();
  const { engine } = await openEngine(1, () => began.resolve(performance.now()));
  const tasks = specs("jobs", 1, 1);
  const times: number[] = [];
  for (let no = 0; no < samples + WARM_UP_SAMPLES; no++) {
    began = Promise.withResolvers();
    if (idleMs(no) > 0) await pause(idleMs(no));
    const start = performance.now();
    const submitted = engine.submit({ ...manifest(), id: runId(`run-${no}`) }, tasks);
    times.push((await began.promise) - start);
    await engine.idle(await submitted);
  }
  return { times: times.slice(WARM_UP_SAMPLES) };
}

const [measure, ...args] = process.argv.slice(2);
const [shape = "jobs", ...sizes] = args;
const [jobs = 0, size = 1, warmUp = 0] = sizes.map(Number);
const result = await (measure === "latency" ? latency(Number(shape)) : throughput(shape, jobs, size, warmUp));
rmSync(directory, { recursive: true, force: true });
process.stdout.write(`${JSON.stringify(result)}\n`);
process.exit(0);

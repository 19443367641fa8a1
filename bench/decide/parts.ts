/** Measurements of single decisions, each in a process of its own: `node parts.ts NAME ARGS…` prints one JSON object. */
import { type Assignment, Dispatcher } from "../../src/decide/dispatcher.ts";
import { LookAhead } from "../../src/decide/order/look-ahead.ts";
import { upwardRanks } from "../../src/decide/order/rank.ts";
import { Pools } from "../../src/decide/pools.ts";
import { NO_HISTORY } from "../../src/domain/durations/history.ts";
import type { Event, TaskNews } from "../../src/domain/event.ts";
import { buildGraph } from "../../src/domain/graph.ts";
import { runId, taskId, workerId } from "../../src/domain/ids.ts";
import { reduce } from "../../src/domain/reduce.ts";
import { type Run, type RunManifest, remaining, runNo } from "../../src/domain/run.ts";
import { PRIORITIES, SPEC_DEFAULTS, type TaskSpec } from "../../src/domain/spec.ts";
import type { Task } from "../../src/domain/task.ts";
import { instant, later, millis, seconds } from "../../src/domain/time.ts";
import { type Change, World } from "../../src/domain/world.ts";
import { median } from "../rig.ts";

const START = instant(1_000_000);

/** Each but the first needs some of those shortly before it: wide enough that much is ready, deep enough that much is not. */
const layered = (count: number, needs: number): readonly TaskSpec[] =>
  Array.from({ length: count }, (_, no) => ({
    ...SPEC_DEFAULTS,
    id: taskId(`task-${no}`),
    run: { shell: "true" },
    estimate: millis(100 + ((no * 7_919) % 1_000)),
    needs: Array.from({ length: needs }, (_, at) => no - 100 - 37 * at)
      .filter((need) => need >= 0)
      .map((need) => taskId(`task-${need}`)),
  }));

/** All ready at once, in so many lanes, and asking for so many different things. */
const ready = (count: number, lanes: number, shapes: number): readonly TaskSpec[] =>
  Array.from({ length: count }, (_, no) => ({
    ...SPEC_DEFAULTS,
    id: taskId(`task-${no}`),
    run: { shell: "true" },
    estimate: millis(100 + ((no * 7_919) % 100_003)),
    priority: lanes === 1 ? SPEC_DEFAULTS.priority : (PRIORITIES[no % lanes] as TaskSpec["priority"]),
    resources: shapes === 1 ? {} : { memory: 1 + (Math.floor(no / lanes) % shapes) },
  }));

const MANIFEST: RunManifest = {
  id: runId("bench-1"),
  name: "bench",
  submittedAt: START,
  directory: "/",
  file: "bench.yaml",
  digest: "none",
  seed: 1,
  resources: {},
  carried: [],
};

/** The World and a dispatcher that follows it, with the time that the dispatcher takes and the time that everything takes. */
class Floor {
  readonly #world = new World();
  readonly dispatcher: Dispatcher;
  readonly run: Run;
  observing = 0;

  constructor(specs: readonly TaskSpec[], workers: number, memory: number) {
    const slots = Array.from({ length: workers }, (_, at) => workerId(`worker/${at}`));
    this.dispatcher = new Dispatcher({ workers: slots, capacity: { memory }, capabilities: [] });
    this.#happen({ kind: "run_submitted", manifest: MANIFEST, specs, seq: 1, at: START, run: runNo(1) });
    this.run = this.#world.run(runNo(1)) as Run;
    this.dispatcher.admit(this.run);
  }

  happen({ no, version, attempt }: Task, news: TaskNews): void {
    const claims = news.kind === "claimed" ? 1 : 0;
    const more = { seq: this.#world.seq + 1, at: START, run: runNo(1), task: no };
    this.#happen({ ...news, ...more, version: version + 1, attempt: attempt + claims });
  }

  #happen(event: Event): void {
    const changes: Change[] = [];
    reduce(this.#world, event, changes);
    const start = performance.now();
    for (const change of changes) this.dispatcher.observe(change);
    this.observing += performance.now() - start;
  }
}

const SUCCESS: TaskNews = { kind: "succeeded", outcome: { kind: "success", durationMs: millis(1) } };
const deadline = later(START, seconds(30));

/** Ranks of `count` tasks with three needs each. */
function rank(count: number) {
  const specs = layered(count, 3);
  const building = performance.now();
  const graph = buildGraph(specs);
  const graphMs = performance.now() - building;
  const costs = Float64Array.from(specs, ({ estimate = 0 }) => estimate);
  const times = Array.from({ length: 9 }, () => {
    const start = performance.now();
    upwardRanks(graph, costs);
    return performance.now() - start;
  });
  return { edges: graph.edges, graphMs, firstMs: times[0], ms: median(times) };
}

/** One claim of a session and its end after the other, while so many runs wait for the same pool. */
function amongRuns(count: number) {
  const world = new World();
  const pools = new Pools({ workers: [], capacity: {}, capabilities: [] }, world);
  const happen = (event: Event): void => {
    const changes: Change[] = [];
    reduce(world, event, changes);
    for (const change of changes) pools.observe(change);
  };
  const specs = ["first", "second"].map((id, no) => ({
    ...SPEC_DEFAULTS,
    id: taskId(id),
    run: { prompt: id },
    pool: "agents",
    needs: no === 0 ? [] : [taskId("first")],
  }));
  for (let no = 1; no <= count; no++) {
    const manifest = { ...MANIFEST, id: runId(`bench-${no}`) };
    happen({ kind: "run_submitted", manifest, specs, seq: world.seq + 1, at: START, run: runNo(no) });
    pools.admit(world.run(runNo(no)) as Run, NO_HISTORY);
  }
  const session = workerId("session");
  const profile = { id: session, agent: "agents", pool: "agents", capabilities: [], slots: 1, ttl: seconds(30) };
  pools.enrol({ profile, state: "idle", joinedAt: START, seenAt: START, losses: 0 });
  const line = pools.line("agents");
  const turn = (): void => {
    Array.from(pools.age(START));
    Array.from(pools.takeNotices(START));
  };
  const times = Array.from({ length: 1_000 }, () => {
    const start = performance.now();
    const { run, task, evidence } = line.nextFor(session, { sees: () => true }, START) as Assignment;
    const place = () => ({ seq: world.seq + 1, at: START, run: run.no, task: task.no, version: task.version + 1 });
    happen({
      kind: "claimed",
      worker: session,
      deadline,
      evidence,
      tokenHash: "",
      ...place(),
      attempt: task.attempt + 1,
    });
    turn();
    happen({ ...SUCCESS, ...place(), attempt: task.attempt });
    if (remaining(run) === 0) pools.dismiss(run);
    turn();
    return (performance.now() - start) * 1_000;
  });
  return { us: median(times.slice(200)) };
}

/** One dispatch after the other while `count` tasks wait, in the middle of a run: `next`, and taking note of the claim. */
function dispatch(count: number, lanes: number, shapes: number) {
  const floor = new Floor(ready(count, lanes, shapes), 64, 64 * (shapes / 2 + 1));
  const out: Task[] = [];
  const rounds = Math.min(20_000, count / 2);
  const times: number[] = [];
  for (let given = 0; given < rounds; ) {
    floor.observing = 0;
    let asking = 0;
    let gone = 0;
    for (;;) {
      const start = performance.now();
      const next = floor.dispatcher.next(START);
      asking += performance.now() - start;
      if (next === undefined) break;
      const { task, worker, evidence } = next;
      floor.happen(task, { kind: "claimed", worker, evidence, deadline, tokenHash: "" });
      out.push(task);
      gone++;
    }
    times.push(((asking + floor.observing) * 1_000) / gone);
    given += gone;
    // Not all at once, so that what is free is of different sizes.
    for (let ends = 0; ends < 16; ends++) floor.happen(out.splice((ends * 7) % out.length, 1)[0] as Task, SUCCESS);
  }
  return { us: median(times) };
}

/** What one end costs in the reducer and the dispatcher, with all that becomes ready by it. */
function complete(count: number, total: number) {
  const times: number[] = [];
  for (let done = 0; done < total; done += count) {
    const floor = new Floor(layered(count, 3), 100, 1);
    const out: Task[] = [];
    let left = Math.min(count, total);
    while (left > 0) {
      for (let next = floor.dispatcher.next(START); next !== undefined; next = floor.dispatcher.next(START)) {
        const { task, worker, evidence } = next;
        floor.happen(task, { kind: "claimed", worker, evidence, deadline, tokenHash: "" });
        out.push(task);
      }
      const start = performance.now();
      for (const task of out) floor.happen(task, SUCCESS);
      times.push(((performance.now() - start) * 1_000) / out.length);
      left -= out.length;
      out.length = 0;
    }
  }
  return { us: median(times) };
}

/** One decision by trying twenty orders out, in the middle of a run of `count` tasks that contend for two things. */
function lookAhead(count: number) {
  const specs = layered(count, 3).map((spec, no) => ({ ...spec, resources: { memory: 1 + (no % 7) } }));
  const floor = new Floor(specs, 16, 40);
  const { dispatcher } = floor;
  // The clock stands still, so that time does not cut the search short.
  const ahead = new LookAhead({ dispatcher, policy: "rollout", now: () => START });
  const out: Task[] = [];
  const times: number[] = [];
  for (let given = 0; given < count / 2; ) {
    const start = performance.now();
    ahead.consider(START);
    times.push(performance.now() - start);
    for (let next = dispatcher.next(START); next !== undefined; next = dispatcher.next(START)) {
      const { task, worker, evidence } = next;
      floor.happen(task, { kind: "claimed", worker, evidence, deadline, tokenHash: "" });
      out.push(task);
      given++;
    }
    floor.happen(out.shift() as Task, SUCCESS);
  }
  return { ms: median(times), worstMs: Math.max(...times), decisions: times.length };
}

const PARTS: Readonly<Record<string, (...args: number[]) => unknown>> = {
  rank,
  dispatch,
  complete,
  amongRuns,
  lookAhead,
};
const [name = "", ...args] = process.argv.slice(2);
process.stdout.write(`${JSON.stringify(PARTS[name]?.(...args.map(Number)))}\n`);

/** Answers "why is it not running?" from the store, with dispatchers in the same state as the scheduler's. */
import type { Dispatcher } from "../../decide/dispatcher.ts";
import { blockers, explain, waitsOf } from "../../decide/explain/explain.ts";
import { Pools } from "../../decide/pools.ts";
import { pressureMode, queuedIn } from "../../decide/queue/pressure.ts";
import { recalled } from "../../decide/room/shortness.ts";
import { isTaskEvent } from "../../domain/event.ts";
import { workerId } from "../../domain/ids.ts";
import type { Outcome } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";
import type { SessionState } from "../../domain/sessions/session.ts";
import type { Asked, Task } from "../../domain/task.ts";
import type { Blocker, Explanation, Wait } from "../../domain/waiting/explanation.ts";
import { scopeKey } from "../../domain/waiting/pause.ts";
import { World } from "../../domain/world.ts";
import { coreCount, machineCapacity } from "../../effects/machine.ts";
import { keptWishes, loadRun, type Reader } from "./reader.ts";

export async function explainTask(reader: Reader, run: Run, task: Task): Promise<Explanation> {
  const { lastOutcome, cancelled } = await recordOf(reader, run, task);
  const context = lastOutcome === undefined ? {} : { lastOutcome };
  const known = explain((await sceneOf(reader, run)).pools, run, task, reader.now(), context);
  const wishes = await keptWishes(reader, run, task);
  const explained = { ...known, ...(cancelled && { cancelled }), ...(wishes.length > 0 && { wishes }) };
  const idle = idleWait(explained.wait);
  if (idle === undefined || (await reader.scheduler()) !== undefined) return explained;
  const gates = explained.gates.map((gate) =>
    gate.gate === "workers" ? ({ gate: "workers", open: false, idle: 0, total: 0 } as const) : gate,
  );
  return { ...explained, wait: idle, gates };
}

/** Why a task waits while the scheduler starts nothing, if no other reason comes before that one. */
function idleWait(wait: Wait | undefined): Wait | undefined {
  if (wait?.reason !== "capacity" && wait?.reason !== "no-match") return undefined;
  const { pool } = wait;
  if (wait.reason === "no-match" && pool === undefined) return undefined;
  return { reason: "capacity", workers: 0, idle: 0, ...(pool !== undefined && { pool }) };
}

/** A session, as far as it matters for a run. */
export interface SessionGlimpse {
  readonly session: string;
  readonly pool: string;
  readonly state: SessionState;
}

export interface Waits {
  /** The one reason why a task is not running, for those that wait. */
  readonly waitOf: (task: Task) => Wait | undefined;
  /** The shared resources, and how much of each is free. */
  readonly resources: readonly { readonly name: string; readonly capacity: number; readonly free: number }[];
  readonly sessions: readonly SessionGlimpse[];
}

/** For every task of the run. */
export async function explainWaits(reader: Reader, run: Run): Promise<Waits> {
  const { pools, world } = await sceneOf(reader, run);
  const own = `${run.no}:`;
  const resources = Array.from(pools.local.resources(), ({ name, capacity, free }) => ({
    name: name.startsWith(own) ? name.slice(own.length) : name,
    capacity,
    free,
  }));
  const waits = waitsOf(pools, run, reader.now());
  const isScheduled = (await reader.scheduler()) !== undefined;
  const waitOf = (task: Task): Wait | undefined => {
    const wait = waits(task);
    return isScheduled ? wait : (idleWait(wait) ?? wait);
  };
  return { waitOf, resources, sessions: sessionGlimpses(world, pools) };
}

/** What holds back the remaining tasks of a run that cannot go on by itself. */
export async function explainBlockers(reader: Reader, run: Run): Promise<readonly Blocker[]> {
  return blockers((await sceneOf(reader, run)).pools, run, reader.now());
}

/** A session that holds as many tasks as it can is busy, whatever it said last. */
export function sessionGlimpses(
  { sessions }: Pick<World, "sessions">,
  pools: { line(pool: string): Pick<Dispatcher, "isIdle"> },
): readonly SessionGlimpse[] {
  return Array.from(sessions.values(), ({ profile: { id, pool }, state }) => ({
    session: id,
    pool,
    state: state === "idle" && !pools.line(pool).isIdle(id) ? "busy" : state,
  }));
}

/** How many events are looked at for what the machine has refused. */
const NEWEST = 500;

interface Scene {
  readonly pools: Pools;
  readonly world: World;
}

/** With the resources that the scheduler has, or had: the held tasks took of these. */
async function sceneOf(reader: Reader, run: Run): Promise<Scene> {
  const { store } = reader;
  const owner = await reader.owner();
  const world = new World();
  for (const pause of await store.pauses()) world.pauses.set(scopeKey(pause.scope), pause);
  for (const each of [run, ...(await othersOf(reader, run))]) world.runs.set(each.no, each);
  const pools = new Pools(
    {
      workers: Array.from({ length: owner?.workers ?? coreCount() }, (_, index) => workerId(`local/${index + 1}`)),
      capacity: owner?.capacity ?? machineCapacity(),
      capabilities: owner?.capabilities ?? [],
    },
    world,
  );
  for (const session of await store.sessions()) {
    world.sessions.set(session.profile.id, session);
    pools.enrol(session);
  }
  // Only the ledger remembers how the last attempts ended that depended on a service.
  if (run.tasks.some(({ spec }) => spec.provider !== undefined)) {
    pools.local.breakers.recall(run, await store.events({ run: run.no }));
  }
  const newest = Math.max(0, (await store.lastSeq()) - NEWEST);
  pools.local.shortness = recalled(await store.events({ run: run.no, after: newest }), pools.local.workers);
  for (const each of world.runs.values()) pools.admit(each, await store.history(each.manifest.name), reader.now());
  const limits = owner?.pressure;
  if (limits !== undefined) {
    const queued = queuedIn(world.runs.values());
    pools.pressure = { mode: pressureMode("normal", queued, limits), queued, depth: limits.depth };
  }
  return { pools, world };
}

/** A daemon shares its resources among all runs that have not ended; any other scheduler has only its own run. */
async function othersOf(reader: Reader, { no, status }: Run): Promise<readonly Run[]> {
  // No task of the run waits any more, so no other run is in its way.
  if (status.state === "finished") return [];
  const rows = (await reader.store.runs("unfinished")).filter((row) => row.no !== no);
  if (rows.length === 0) return [];
  const { SERVE } = await import("../requests/owner.ts");
  if ((await reader.scheduler())?.command !== SERVE) return [];
  return Promise.all(rows.map((row) => loadRun(reader, row)));
}

/** What only the ledger has: how the last attempt ended, and which person had the task cancelled. */
async function recordOf(
  { store }: Reader,
  run: Run,
  task: Task,
): Promise<{ readonly lastOutcome?: Outcome; readonly cancelled?: Asked }> {
  const record: { lastOutcome?: Outcome; cancelled?: Asked } = {};
  for (const event of await store.events({ run: run.no, task: task.no })) {
    if (isTaskEvent(event) && "outcome" in event && event.outcome) record.lastOutcome = event.outcome;
    if (event.kind === "cancelled") record.cancelled = event.asked;
  }
  return record;
}

/** The same answers from a scheduler's own dispatchers, for the command that runs the scheduler. */
export { blockers as blockersOf, waitsOf as waitsIn } from "../../decide/explain/explain.ts";

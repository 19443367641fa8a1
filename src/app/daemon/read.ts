/** The part of the service that only reads. */
import { explain, waitsOf } from "../../decide/explain/explain.ts";
import { type Event, isTaskEvent } from "../../domain/event.ts";
import type { Run, RunNo, RunOutcome } from "../../domain/run.ts";
import { isHeld } from "../../domain/task.ts";
import { type Instant, later, millis } from "../../domain/time.ts";
import type { RunRow } from "../../store/rows.ts";
import type { EventQuery } from "../../store/store.ts";
import { eventJson } from "../../views/events/events.ts";
import { statusJson, statusOf } from "../../views/status/status.ts";
import { whyJson } from "../../views/why/why.ts";
import type { EventReply, PauseReply, RunSummary, StatusReply, WorkerReply } from "../../wire/answers.ts";
import type { EventsRequest } from "../../wire/messages.ts";
import type { Caller, Service } from "../../wire/service.ts";
import { explainTask, explainWaits, sessionGlimpses, type Waits } from "../look/explain-run.ts";
import { findRun, isNewest, loadRun, mustFindTask, type Reader } from "../look/reader.ts";
import { manifestFrom } from "../runs/manifest.ts";
import { type Parts, runNamed, scopeReply } from "./parts.ts";
import { isoOf } from "./reply.ts";

type Look = Pick<Service, "info" | "runs" | "status" | "manifest" | "why" | "await" | "events" | "follow" | "workers">;

export interface LookParts extends Parts {
  readonly socket: string;
  readonly version: string;
}

export function lookOf(parts: LookParts): Look {
  const { scheduler, state } = parts;
  const { engine, store, clock } = scheduler;
  const since = clock.now();
  const reader = readerOf(parts);
  return {
    info: async () => ({
      version: parts.version,
      pid: process.pid,
      state: state.root,
      socket: parts.socket,
      since: isoOf(since),
      workers: engine.dispatcher.workers,
      paused: pausesOf(parts),
      ...countsOf(parts),
      pools: Array.from(engine.pools.sessionPools(), ([pool, { ready, roster }]) => ({
        pool,
        ready: ready.size,
        sessions: roster?.size ?? 0,
      })),
      last_seq: engine.world.seq,
    }),
    runs: async ({ limit, before }) => {
      const earlier = before === undefined ? {} : { before: (await findRun(scheduler, before)).no };
      return (await store.runs({ newest: limit, ...earlier })).toReversed().map(summaryOf);
    },
    status: (name) => status(parts, reader, name),
    manifest: async (name) => {
      const row = await findRun(scheduler, name);
      return manifestFrom(store, row, { version: parts.version, now: clock.now(), eventsMax: MANIFEST_EVENTS_MAX });
    },
    why: async (name, id) => {
      const run = await runNamed(parts, name);
      const task = mustFindTask(run, id);
      // Only the ledger says which person had it cancelled.
      const isLive = engine.world.run(run.no) === run && task.status.state !== "cancelled";
      const { claiming } = engine;
      const context = { claiming, modeOf: (pool: string) => engine.modeOf(pool) };
      return whyJson(
        isLive ? explain(engine.pools, run, task, clock.now(), context) : await explainTask(reader, run, task),
      );
    },
    await: (name, waitMs, caller) => awaitRun(parts, name, waitMs, caller),
    events: async (request) => {
      const query = await queryOf(parts, request);
      const names = new Names(parts);
      const found = await store.events({ ...query, limit: request.limit });
      return Promise.all(found.map(async (event) => eventJson(event, await names.runOf(event.run))));
    },
    follow: (request, tell, signal) => follow(parts, request, tell, signal),
    workers: async () => [...localWorkers(parts), ...sessionWorkers(parts)],
  };
}

/** About 50 MB as JSON. */
const MANIFEST_EVENTS_MAX = 200_000;

const summaryOf = ({ manifest, status, tasks }: RunRow): RunSummary => ({
  run: manifest.id,
  name: manifest.name,
  state: status.state,
  ...(status.state !== "active" && { outcome: status.outcome }),
  tasks,
});

/** The daemon reads what it has written: the same views as those of a process that only looks. */
function readerOf({ scheduler, state }: LookParts): Reader {
  const { store, clock } = scheduler;
  return {
    state,
    store,
    now: () => clock.now(),
    owner: () => store.owner(),
    scheduler: () => store.owner(),
    [Symbol.asyncDispose]: async () => {},
  };
}

async function status({ scheduler, state }: LookParts, reader: Reader, name: string | undefined): Promise<StatusReply> {
  const { engine, clock } = scheduler;
  const row = await findRun(scheduler, name);
  const live = engine.world.run(row.no);
  const run = live ?? (await loadRun(scheduler, row));
  const now = clock.now();
  const isKnown = live !== undefined || run.status.state === "finished";
  const waits = isKnown ? knownWaits(scheduler, run, now) : await explainWaits(reader, run);
  const owner = await reader.owner();
  return statusJson(
    statusOf({
      run,
      now,
      ...(owner && {
        owner: { pid: owner.process.pid, host: owner.host, command: owner.command, workers: owner.workers },
      }),
      ...waits,
      pauses: [...engine.world.pauses.values()],
      logOf: (task, attempt) => state.log(run.manifest.id, task, attempt),
      newest: await isNewest(scheduler, run),
    }),
  );
}

/** From the scheduler's own dispatchers. Of a run that has ended no task waits, so the other runs need not be read. */
const knownWaits = ({ engine }: Parts["scheduler"], run: Run, now: Instant): Waits => ({
  waitOf: run.status.state === "finished" ? () => undefined : waitsOf(engine.pools, run, now),
  resources: resourcesOf(engine, run),
  sessions: sessionGlimpses(engine.world, engine.pools),
});

function resourcesOf({ dispatcher }: Parts["scheduler"]["engine"], { no }: Run) {
  const own = `${no}:`;
  return Array.from(dispatcher.resources(), ({ name, capacity, free }) => ({
    name: name.startsWith(own) ? name.slice(own.length) : name,
    capacity,
    free,
  }));
}

function countsOf({ scheduler }: LookParts) {
  const { world, pools } = scheduler.engine;
  let [queued, parked, runs] = [0, 0, 0];
  for (const {
    counts,
    status: { state },
  } of world.runs.values()) {
    if (state === "finished") continue;
    runs++;
    queued += counts.ready + counts.blocked;
    parked += counts.parked;
  }
  return { runs, queued, parked, out: pools.out, sessions: world.sessions.size };
}

const pausesOf = (parts: LookParts): readonly PauseReply[] =>
  [...parts.scheduler.engine.world.pauses.values()].map(
    ({ scope, asked, at }) => ({ ...scopeReply(parts, scope), ...asked, at: isoOf(at) }) as PauseReply,
  );

async function awaitRun(parts: LookParts, name: string, waitMs: number, { signal }: Caller) {
  const { engine, clock } = parts.scheduler;
  const run = await runNamed(parts, name);
  const id = run.manifest.id;
  const isLive = engine.world.run(run.no) === run && run.status.state === "active";
  if (isLive && waitMs > 0) {
    const over = new AbortController();
    const giveUp = (): void => over.abort();
    const timer = clock.at(later(clock.now(), millis(waitMs)), giveUp);
    signal?.addEventListener("abort", giveUp);
    await engine.idle(run, over.signal).finally(() => {
      timer.cancel();
      signal?.removeEventListener("abort", giveUp);
    });
  }
  const outcome = outcomeOf(run);
  return outcome === undefined ? { run: id } : { run: id, outcome };
}

function outcomeOf({ status }: Run): RunOutcome | undefined {
  return status.state === "active" ? undefined : status.outcome;
}

async function queryOf(parts: Parts, { run, task, after }: EventsRequest): Promise<EventQuery> {
  if (run === undefined && task === undefined) return { after };
  const found = await runNamed(parts, run);
  return { after, run: found.no, ...(task !== undefined && { task: mustFindTask(found, task).no }) };
}

/** Read from the store after each commit, so the events are durable, in order, and without a gap. */
async function follow(
  parts: LookParts,
  request: EventsRequest,
  tell: (event: EventReply) => void,
  signal: AbortSignal,
): Promise<void> {
  const { engine, store } = parts.scheduler;
  const query = await queryOf(parts, request);
  const names = new Names(parts);
  let after = request.after;
  let ring = (): void => {};
  let pending = true;
  const wake = (): void => {
    pending = true;
    ring();
  };
  // A commit without an event that matches the query need not be read.
  const stopListening = engine.listen((events) => {
    if (events.some((event) => isAsked(query, event))) wake();
  });
  signal.addEventListener("abort", wake);
  try {
    while (!signal.aborted) {
      if (!pending) await new Promise<void>((resolve) => (ring = resolve));
      pending = false;
      if (signal.aborted) return;
      for (const event of await store.events({ ...query, after, limit: PAGE })) {
        if (signal.aborted) return;
        tell(eventJson(event, await names.runOf(event.run)));
        after = event.seq;
        pending = true;
      }
    }
  } finally {
    stopListening();
    signal.removeEventListener("abort", wake);
  }
}
const PAGE = 1_000;

const isAsked = ({ run, task }: EventQuery, event: Event): boolean =>
  (run === undefined || event.run === run) && (task === undefined || (isTaskEvent(event) && event.task === task));

/** Runs for the names in their events, the last few of them. */
class Names {
  readonly #parts: Parts;
  readonly #known = new Map<RunNo, Promise<Run | undefined>>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  runOf(no: RunNo): Promise<Run | undefined> {
    const { engine } = this.#parts.scheduler;
    const live = engine.world.run(no);
    const known = this.#known.get(no) ?? (live === undefined ? this.#load(no) : Promise.resolve(live));
    this.#known.delete(no);
    this.#known.set(no, known);
    if (this.#known.size > NAMES_MAX) this.#known.delete(this.#known.keys().next().value as RunNo);
    return known;
  }

  async #load(no: RunNo): Promise<Run | undefined> {
    const { scheduler } = this.#parts;
    const [row] = await scheduler.store.runs({ no });
    return row && loadRun(scheduler, row);
  }
}
const NAMES_MAX = 50;

function* localWorkers({ scheduler }: LookParts): Iterable<WorkerReply> {
  const { dispatcher, world } = scheduler.engine;
  const held = new Map(Array.from(dispatcher.held(), (holding) => [holding.worker, holding]));
  for (const { workers } of dispatcher.nodes) {
    for (const worker of workers) {
      const holding = held.get(worker);
      const startedAt = world.workers.get(worker);
      yield {
        worker,
        kind: "local",
        pool: "local",
        state: holding === undefined ? "idle" : "busy",
        ...(holding && { run: holding.run.manifest.id, task: holding.task.spec.id, since: isoOf(holding.since) }),
        ...(startedAt !== undefined && { started_at: isoOf(startedAt) }),
      };
    }
  }
}

function* sessionWorkers({ scheduler }: LookParts): Iterable<WorkerReply> {
  const { world, pools } = scheduler.engine;
  for (const { profile, state } of world.sessions.values()) {
    const holding = [...pools.line(profile.pool).held()].find(({ worker }) => worker === profile.id);
    const isBusy = holding !== undefined && isHeld(holding.task.status) && state === "idle";
    yield {
      worker: profile.id,
      kind: "session",
      pool: profile.pool,
      state: isBusy ? "busy" : state,
      ...(holding && { run: holding.run.manifest.id, task: holding.task.spec.id, since: isoOf(holding.since) }),
    };
  }
}

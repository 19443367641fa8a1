/** Folds the ledger in again and compares what it adds up to with what the tables say. The two must never disagree. */
import { isDeepStrictEqual } from "node:util";
import { type Event, isSystemEvent } from "../domain/event.ts";
import { reduce } from "../domain/reduce.ts";
import { type Run, type RunNo, taskOf } from "../domain/run.ts";
import type { Task } from "../domain/task.ts";
import type { Instant } from "../domain/time.ts";
import { pausesOf, scopeKey } from "../domain/waiting/pause.ts";
import { World } from "../domain/world.ts";
import { InvariantError } from "../std/invariant.ts";
import { type Range, Skips } from "../std/skips.ts";
import { restoreRun, type TaskRow, toRunRow, toTaskRow } from "./rows.ts";
import type { Store, StoredRun } from "./store.ts";

type Reading = Pick<Store, "runs" | "load" | "events">;
type ReadingAll = Reading & Pick<Store, "sessions" | "pauses" | "forgotten">;

/** Events read at a time: a run of a million tasks has several millions of them. */
const PAGE = 10_000;

/** Where the ledger and the tables disagree about one run, in sentences; empty when they agree. */
export async function replayRun(store: Reading, no: RunNo): Promise<readonly string[]> {
  const replay = await Replay.of(store, no);
  for await (const event of allEvents(store, { run: no })) replay.add(event);
  return replay.differences();
}

type Positions = ReadonlyMap<RunNo, number>;
type Found = Map<RunNo, readonly string[]>;

/** Up to this many runs are checked one by one: then the events between theirs need not be read. */
const FEW = 3;

/** The same for each of these runs, by its number. */
export async function replayRuns(
  store: Reading,
  runs: readonly RunNo[],
): Promise<ReadonlyMap<RunNo, readonly string[]>> {
  if (runs.length > FEW) return replayTogether(store, runs, await lastsOf(store, runs));
  const found: Found = new Map();
  for (const no of runs) found.set(no, await replayRun(store, no));
  return found;
}

/**
 * Goes through the ledger once, because the events of runs that go on at the same time are interleaved. A run is compared at its last
 * event, and not kept in memory any longer.
 */
async function replayTogether(store: Reading, runs: readonly RunNo[], lasts: Positions): Promise<Found> {
  const found: Found = new Map(runs.map((no) => [no, [`run ${no}: the ledger does not know it.`]]));
  const replays = new Map<RunNo, Replay>();
  for await (const event of allEvents(store, { after: (await firstOf(store, runs)) - 1 })) {
    const { run: no, seq } = event;
    if (!found.has(no)) continue;
    const replay = replays.get(no) ?? (await Replay.of(store, no));
    replay.add(event);
    if (seq === lasts.get(no)) {
      found.set(no, replay.differences());
      replays.delete(no);
    } else replays.set(no, replay);
  }
  return found;
}

async function lastsOf(store: Reading, runs: readonly RunNo[]): Promise<Positions> {
  const lasts = new Map<RunNo, number>();
  for await (const { run, seq } of allEvents(store, { after: (await firstOf(store, runs)) - 1 })) lasts.set(run, seq);
  return lasts;
}

/** Run numbers are given in the order of submitting, so none of these runs has an event before the first event of the first run. */
async function firstOf(store: Reading, runs: readonly RunNo[]): Promise<number> {
  const [first] = [...runs].sort((a, b) => a - b);
  const [event] = first === undefined ? [] : await store.events({ run: first, limit: 1 });
  return event?.seq ?? 1;
}

/** What is wrong with any run, with sessions and pauses, or with the order of the ledger itself. */
export async function replayAll(store: ReadingAll): Promise<readonly string[]> {
  const survey = new Survey(await store.forgotten());
  for await (const event of allEvents(store)) survey.add(event);
  const runs = (await store.runs()).map(({ no }) => no);
  const found = await replayTogether(store, runs, survey.lasts);
  return [...survey.gaps, ...(await survey.differences(store)), ...[...found.values()].flat()];
}

/** One run, replayed event by event. */
class Replay {
  readonly #no: RunNo;
  readonly #stored: StoredRun | undefined;
  readonly #world = new World();
  /** Whether the clock was set back during the run. */
  #isSetBack = false;
  #at = 0;
  #broken: string | undefined;

  static async of(store: Reading, no: RunNo): Promise<Replay> {
    return new Replay(no, await store.load(no));
  }

  constructor(no: RunNo, stored: StoredRun | undefined) {
    this.#no = no;
    this.#stored = stored;
  }

  add(event: Event): void {
    const stored = this.#stored;
    if (stored === undefined) return;
    this.#isSetBack ||= event.at < this.#at;
    this.#at = event.at;
    this.#broken ??= whatBreaks(() => {
      // The events of one run are interleaved with those of others, so only their order can be checked here.
      this.#world.seq = event.seq - 1;
      reduce(this.#world, whole(event, stored), []);
    });
  }

  differences(): readonly string[] {
    const [no, stored, run] = [this.#no, this.#stored, this.#world.run(this.#no)];
    if (stored === undefined) return [`There is no run ${no}.`];
    if (this.#broken === undefined && run === undefined) return [`run ${no}: the ledger does not know it.`];
    let found: readonly string[] = [];
    this.#broken ??= whatBreaks(() => (found = compare(run as Run, stored, this.#isSetBack)));
    return this.#broken === undefined ? found : [`run ${no}: ${this.#broken}.`];
  }
}

/**
 * What only the whole ledger shows: whether it has gaps, where each run ends, and the state of sessions and pauses, which belong to no
 * run or outlive its events.
 */
class Survey {
  readonly gaps: string[] = [];
  readonly lasts = new Map<RunNo, number>();
  readonly #world = new World();
  readonly #skips: Skips;
  #last = 0;
  #broken: string | undefined;

  constructor(forgotten: readonly Range[]) {
    this.#skips = new Skips(forgotten);
  }

  add(event: Event): void {
    const { seq, run } = event;
    // Positions are 1, 2, 3, … over all runs: a missing one is a lost event, unless its run was forgotten.
    if (seq !== this.#skips.after(this.#last)) this.gaps.push(`ledger: event ${seq} follows ${this.#last}.`);
    this.#last = seq;
    this.lasts.set(run, seq);
    this.#broken ??= whatBreaks(() => this.#fold(event));
  }

  #fold(event: Event): void {
    const world = this.#world;
    world.seq = event.seq - 1;
    if (isSystemEvent(event)) reduce(world, event, []);
    if (event.kind === "run_finished")
      for (const key of pausesOf(world.pauses.values(), event.run)) world.pauses.delete(key);
  }

  async differences(store: Pick<Store, "sessions" | "pauses">): Promise<readonly string[]> {
    if (this.#broken !== undefined) return [`sessions and pauses: ${this.#broken}.`];
    const sessions = new Map((await store.sessions()).map((session) => [session.profile.id, session]));
    const pauses = new Map((await store.pauses()).map((pause) => [scopeKey(pause.scope), pause]));
    const world = this.#world;
    return [...differences("session", world.sessions, sessions), ...differences("pause", world.pauses, pauses)];
  }
}

function differences<T extends object>(
  what: string,
  replayed: ReadonlyMap<string, T>,
  stored: ReadonlyMap<string, T>,
): readonly string[] {
  const keys = [...new Set([...replayed.keys(), ...stored.keys()])].sort();
  return keys.flatMap((key) => {
    const [mine, kept] = [replayed.get(key), stored.get(key)];
    if (mine === undefined) return [`${what} ${key}: the ledger does not know it.`];
    if (kept === undefined) return [`${what} ${key}: the table does not have it.`];
    return fieldsThatDiffer(mine, kept).map((field) => `${what} ${key}: ${field}`);
  });
}

/** The ledger keeps neither the manifest nor the tasks of a run with the event that submitted it. */
const whole = (event: Event, { row, specs }: StoredRun): Event =>
  event.kind === "run_submitted" ? { ...event, manifest: row.manifest, specs } : event;

/** Compared as Worlds, not as rows: a row is written when something happens to its own task, not when a task it waits for ends. */
function compare(replayed: Run, stored: StoredRun, isSetBack: boolean): readonly string[] {
  const { row, specs, tasks } = stored;
  const kept = restoreRun(row, specs, tasks);
  const wrong = fieldsThatDiffer(toRunRow(replayed), toRunRow(kept)).map((field) => `run ${row.no}: ${field}`);
  for (const task of replayed.tasks) {
    const other = taskOf(kept, task.no);
    const found = [
      ...fieldsThatDiffer(asCompared(replayed, task, isSetBack), asCompared(kept, other, isSetBack)),
      // The same object where no person has edited the task.
      ...(task.spec === other.spec ? [] : fieldsThatDiffer(task.spec, other.spec)),
    ];
    wrong.push(...found.map((field) => `run ${row.no}, task ${task.spec.id}: ${field}`));
  }
  return wrong;
}

type Compared = Omit<TaskRow, "since"> & { readonly since: Instant | null } & Pick<Task, "unmet">;

/**
 * Renewals and tokens are not in the ledger, so all it knows of a lease is that there is one. No row says since when a task waits that
 * has had no event yet: it is taken to be the latest end of its needs. With a clock that was set back this need not be the last one.
 */
function asCompared(run: Run, task: Task, isSetBack: boolean): Compared {
  const row = { ...toTaskRow(run, task), deadline: null, tokenHash: null, unmet: task.unmet };
  return row.state === "waiting" && isSetBack ? { ...row, since: null, notBefore: null } : row;
}

const fieldsThatDiffer = <T extends object>(replayed: T, stored: T): readonly string[] =>
  (Object.keys(replayed) as (keyof T & string)[])
    .filter((key) => replayed[key] !== stored[key] && !isDeepStrictEqual(replayed[key], stored[key]))
    .map((key) => `${key} is ${say(replayed[key])} by the ledger and ${say(stored[key])} by the table.`);

const say = (value: unknown): string => JSON.stringify(value) ?? "nothing";

async function* allEvents(
  store: Reading,
  { run, after = 0 }: { readonly run?: RunNo; readonly after?: number } = {},
): AsyncIterable<Event> {
  for (let from = after; ; ) {
    const page = await store.events({ after: from, limit: PAGE, ...(run !== undefined && { run }) });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    from = last.seq;
  }
}

/** A broken invariant is an expected answer here: it speaks of the data, and no decision follows from it. */
function whatBreaks(look: () => void): string | undefined {
  try {
    look();
    return undefined;
  } catch (error) {
    if (error instanceof InvariantError) return error.message;
    throw error;
  }
}

/** Folds the ledger in again and compares what it adds up to with what the tables say. The two must never disagree. */
import { isDeepStrictEqual } from "node:util";
import { type Event, isSystemEvent } from "../domain/event.ts";
import { pausesOf, scopeKey } from "../domain/pause.ts";
import { reduce } from "../domain/reduce.ts";
import { type Run, type RunNo, taskOf } from "../domain/run.ts";
import type { Task } from "../domain/task.ts";
import { World } from "../domain/world.ts";
import { InvariantError } from "../std/invariant.ts";
import { restoreRun, type TaskRow, toRunRow, toTaskRow } from "./rows.ts";
import type { Store, StoredRun } from "./store.ts";

type Reading = Pick<Store, "runs" | "load" | "events">;
type ReadingAll = Reading & Pick<Store, "sessions" | "pauses">;

/** Events read at a time: a run of a million tasks has several millions of them. */
const PAGE = 10_000;

/** What the ledger and the tables disagree on about one run, in sentences; empty when nothing. */
export async function replayRun(store: Reading, no: RunNo): Promise<readonly string[]> {
  const stored = await store.load(no);
  if (stored === undefined) return [`There is no run ${no}.`];
  return orBroken(`run ${no}`, async () => {
    const replayed = await replay(store, no, stored);
    return replayed === undefined ? [`run ${no}: the ledger does not know it.`] : compare(replayed, stored);
  });
}

/** What is wrong with any run, with who is there and what is on hold, or with the order of the ledger itself. */
export async function replayAll(store: ReadingAll): Promise<readonly string[]> {
  const wrong = [...(await gaps(store)), ...(await orBroken("sessions and pauses", () => compareRegisters(store)))];
  for (const { no } of await store.runs()) wrong.push(...(await replayRun(store, no)));
  return wrong;
}

/** Sessions and pauses belong to no run, or outlive what happens in it: what became of them is read from the whole ledger. */
async function compareRegisters(store: ReadingAll): Promise<readonly string[]> {
  const world = new World();
  for await (const event of allEvents(store)) {
    world.seq = event.seq - 1;
    if (isSystemEvent(event)) reduce(world, event, []);
    if (event.kind === "run_finished")
      for (const key of pausesOf(world.pauses.values(), event.run)) world.pauses.delete(key);
  }
  const sessions = new Map((await store.sessions()).map((session) => [session.profile.id, session]));
  const pauses = new Map((await store.pauses()).map((pause) => [scopeKey(pause.scope), pause]));
  return [...differences("session", world.sessions, sessions), ...differences("pause", world.pauses, pauses)];
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

async function replay(store: Reading, no: RunNo, stored: StoredRun): Promise<Run | undefined> {
  const world = new World();
  for await (const event of allEvents(store, no)) {
    // The events of one run stand among those of others, so only their order can be asked for here.
    world.seq = event.seq - 1;
    reduce(world, whole(event, stored), []);
  }
  return world.run(no);
}

/** The ledger keeps neither the manifest nor the tasks of a run with the event that submitted it. */
const whole = (event: Event, { row, specs }: StoredRun): Event =>
  event.kind === "run_submitted" ? { ...event, manifest: row.manifest, specs } : event;

/** Compared as Worlds, not as rows: a row is written when something happens to its task, not when what it waits for ends. */
function compare(replayed: Run, stored: StoredRun): readonly string[] {
  const { row, specs, tasks } = stored;
  const kept = restoreRun(row, specs, tasks);
  const wrong = fieldsThatDiffer(toRunRow(replayed), toRunRow(kept)).map((field) => `run ${row.no}: ${field}`);
  for (const task of replayed.tasks) {
    const other = taskOf(kept, task.no);
    const found = [
      ...fieldsThatDiffer(asCompared(replayed, task), asCompared(kept, other)),
      // The same value where nobody has changed it.
      ...(task.spec === other.spec ? [] : fieldsThatDiffer(task.spec, other.spec)),
    ];
    wrong.push(...found.map((field) => `run ${row.no}, task ${task.spec.id}: ${field}`));
  }
  return wrong;
}

/** Renewals and tokens are not in the ledger, so all it knows of a lease is that there is one. */
function asCompared(run: Run, task: Task): TaskRow & Pick<Task, "unmet"> {
  const row = toTaskRow(run, task);
  return { ...row, deadline: null, tokenHash: null, unmet: task.unmet };
}

const fieldsThatDiffer = <T extends object>(replayed: T, stored: T): readonly string[] =>
  (Object.keys(replayed) as (keyof T & string)[])
    .filter((key) => replayed[key] !== stored[key] && !isDeepStrictEqual(replayed[key], stored[key]))
    .map((key) => `${key} is ${say(replayed[key])} by the ledger and ${say(stored[key])} by the table.`);

const say = (value: unknown): string => JSON.stringify(value) ?? "nothing";

/** Positions are 1, 2, 3, … over all runs: a missing one is a lost event. */
async function gaps(store: Reading): Promise<readonly string[]> {
  const wrong: string[] = [];
  let last = 0;
  for await (const { seq } of allEvents(store)) {
    if (seq !== last + 1) wrong.push(`ledger: event ${seq} follows ${last}.`);
    last = seq;
  }
  return wrong;
}

async function* allEvents(store: Reading, run?: RunNo): AsyncIterable<Event> {
  for (let after = 0; ; ) {
    const page = await store.events({ after, limit: PAGE, ...(run !== undefined && { run }) });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return;
    after = last.seq;
  }
}

/** Here a broken invariant is what is looked for: it speaks of the data, and nothing is decided on it. */
async function orBroken(what: string, look: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof InvariantError) return [`${what}: ${error.message}.`];
    throw error;
  }
}

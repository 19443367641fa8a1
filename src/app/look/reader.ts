/** Reads a state directory: changes nothing, needs no scheduler, and may run beside one. */
import { UserError } from "../../domain/errors.ts";
import { runId, taskId } from "../../domain/ids.ts";
import type { Run, RunNo } from "../../domain/run.ts";
import { findTask } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import type { KeptWish } from "../../domain/waiting/explanation.ts";
import { systemClock } from "../../effects/clock.ts";
import { closest } from "../../std/closest.ts";
import { openStore } from "../../store/open.ts";
import { type RunRow, restoreRun } from "../../store/rows.ts";
import type { OnRecord, Store } from "../../store/store.ts";
import { existingState, type StateDir } from "../config/state.ts";

export interface Reader extends AsyncDisposable {
  readonly state: StateDir;
  readonly store: Pick<Store, "runs" | "load" | "events" | "lastSeq" | "requests" | "history" | "sessions" | "pauses">;
  now(): Instant;

  /** The scheduler on record, whether or not it lives. */
  owner(): Promise<OnRecord | undefined>;
  /** The scheduler that works on this state directory right now. */
  scheduler(): Promise<OnRecord | undefined>;
}

/** A reader of a state directory whose scheduler may have died in the middle of something. */
export interface DirectoryReader extends Reader {
  /** Why the data read here may be incomplete, in a sentence that says what to do; nothing while a scheduler works, or none has to. */
  unrecovered(): Promise<string | undefined>;
}

export function openReader(where: Parameters<typeof existingState>[0]): DirectoryReader {
  const state = existingState(where);
  const clock = systemClock();
  const store = openStore({ database: state.database, readOnly: true });
  return {
    state,
    store,
    now: () => clock.now(),
    owner: () => store.owner(),
    async scheduler() {
      const owner = await store.owner();
      return owner?.lives ? owner : undefined;
    },
    unrecovered: () => unrecovered(store, state),
    [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
  };
}

async function unrecovered(store: Pick<Store, "owner" | "damage">, { root }: StateDir): Promise<string | undefined> {
  const owner = await store.owner();
  if (owner?.lives) return undefined;
  const damage = await store.damage();
  if (damage !== undefined) return `${root} is damaged, and what is shown is older than what was done: ${damage}`;
  if (owner === undefined) return undefined;
  const who = `${owner.command} (pid ${owner.process.pid} on ${owner.host})`;
  return `${root} is not yet recovered: ${who} ended without giving it back, and what is shown may not be all it did. \`rota serve\` or \`rota run PLAN --resume\` goes on`;
}

/** Nothing more will come by itself: no scheduler works here, or the named run has ended. */
export async function isQuiet(reader: Pick<Reader, "store" | "scheduler">, run?: RunNo): Promise<boolean> {
  if ((await reader.scheduler()) === undefined) return true;
  if (run === undefined) return false;
  return (await reader.store.runs({ no: run }))[0]?.status.state === "finished";
}

interface ReadFrom {
  readonly store: Pick<Store, "runs" | "load">;
}

/** The named run: by its id, the start of its id, or `last`; the newest when no name is given. */
export async function findRun({ store }: ReadFrom, name = "last"): Promise<RunRow> {
  const [found] = await store.runs(name === "last" ? "newest" : { id: runId(name) });
  if (found !== undefined) return found;
  const begun = name === "" ? [] : await store.runs({ begins: name });
  if (begun.length === 1) return begun[0] as RunRow;
  const ids = begun.map(({ manifest }) => manifest.id);
  if (ids.length > 1) throw new UserError("RUN_UNKNOWN", `"${name}" begins ${ids.length} runs: ${few(ids)}`);
  const rows = await store.runs({ newest: NEAR_MAX });
  if (rows.length === 0)
    throw new UserError("RUN_UNKNOWN", "There are no runs yet", { hint: "Start one with `rota run PLAN`." });
  const near = closest(
    name,
    rows.map(({ manifest }) => manifest.id),
  );
  throw new UserError(
    "RUN_UNKNOWN",
    `There is no run "${name}"${near === undefined ? "" : `. Did you mean "${near}"?`}`,
  );
}

/** Whether commands mean this run when no run is named. */
export const isNewest = async ({ store }: ReadFrom, { no }: Pick<RunRow, "no">): Promise<boolean> =>
  (await store.runs("newest"))[0]?.no === no;

/** Requests for the run, or for one task of it, that wait for a scheduler. */
export async function keptWishes(
  { store }: Pick<Reader, "store">,
  run: Run,
  task?: Task,
): Promise<readonly KeptWish[]> {
  const mine = (await store.requests()).filter(({ run: id }) => id === run.manifest.id);
  const wanted = task === undefined ? mine : mine.filter((each) => (each.task ?? task.spec.id) === task.spec.id);
  return wanted.map(({ kind, task: of, by, why, at }) => ({
    kind,
    ...(of !== undefined && { task: of }),
    asked: { by, ...(why !== undefined && { why }) },
    at,
  }));
}

/** The run as it is now, with all its tasks. */
export async function loadRun({ store }: ReadFrom, row: Pick<RunRow, "no" | "manifest">): Promise<Run> {
  const stored = await store.load(row.no);
  if (stored === undefined) throw new UserError("RUN_UNKNOWN", `There is no run "${row.manifest.id}"`);
  return restoreRun(stored.row, stored.specs, stored.tasks);
}

export function mustFindTask(run: Run, id: string): Task {
  const task = findTask(run, taskId(id));
  if (task !== undefined) return task;
  const near = closest(
    id,
    run.tasks.map(({ spec }) => spec.id),
  );
  const hint = near === undefined ? "" : `. Did you mean "${near}"?`;
  const { id: name, only } = run.manifest;
  const has = only === undefined ? "has" : `is only ${only.join(", ")} and what is needed for that, and has`;
  throw new UserError("TASK_UNKNOWN", `Run ${name} ${has} no task "${id}"${hint}`);
}

/** A person who mistypes a name means a recent run: older ones are not searched for a similar name. */
const NEAR_MAX = 1_000;
const SHOWN_MAX = 5;
const few = (ids: readonly string[]): string =>
  ids.length > SHOWN_MAX ? `${ids.slice(-SHOWN_MAX).join(", ")} and ${ids.length - SHOWN_MAX} more` : ids.join(", ");

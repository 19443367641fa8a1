/**
 * Forgets runs that ended long ago. First their rows, a few runs at a time and each time whole or not at all; then their logs.
 * A prune that is stopped in between leaves logs without runs, and the next one finds them.
 */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { UserError } from "../../domain/errors.ts";
import { runId } from "../../domain/ids.ts";
import { type Instant, later, type Millis, millis } from "../../domain/time.ts";
import { openStore } from "../../store/open.ts";
import type { RunRow } from "../../store/rows.ts";
import { KEYS_KEPT, type Owner, type Store } from "../../store/store.ts";
import type { StateDir } from "../config/state.ts";

/** How many runs at a time: other processes may write in between. */
const BATCH = 500;

export interface Pruning {
  readonly olderThan: Millis;
  /** How many of the newest runs stay. */
  readonly keep: number;
  readonly now: Instant;
}

export interface Pruned {
  readonly runs: readonly RunRow[];
  /** How many folders of logs were removed. */
  readonly logs: number;
}

/** The runs that would be forgotten, without a check which runs the keys of callers still lead to. */
export async function prunable(store: Pick<Store, "runs">, pruning: Pruning): Promise<readonly RunRow[]> {
  const rows = await store.runs();
  const before = cutOff(pruning);
  return rows
    .slice(0, Math.max(0, rows.length - Math.max(1, pruning.keep)))
    .filter(({ status }) => status.state === "finished" && status.at < before);
}

export async function prune(state: StateDir, pruning: Pruning): Promise<Pruned> {
  await refuseBusy(state);
  await using store = openStore({ database: state.database });
  const rows = await prunable(store, pruning);
  await store.forget(later(pruning.now, millis(0 - KEYS_KEPT)));
  const gone: RunRow[] = [];
  for (let at = 0; at < rows.length; at += BATCH) {
    const batch = rows.slice(at, at + BATCH);
    const pruned = await store.prune(batch.map(({ no }) => no));
    if (!pruned.ok) throw busy(state, pruned.error, gone.length);
    const forgotten = new Set(pruned.value);
    gone.push(...batch.filter(({ no }) => forgotten.has(no)));
  }
  return { runs: gone, logs: await removeLogs(state, store, cutOff(pruning)) };
}

const cutOff = ({ now, olderThan }: Pruning): Instant => later(now, millis(0 - olderThan));

/** Checked before the store is opened for writing: a daemon of an older version must not meet tables that it does not know. */
async function refuseBusy(state: StateDir): Promise<void> {
  await using store = openStore({ database: state.database, readOnly: true });
  const owner = await store.owner();
  if (owner?.lives) throw busy(state, owner);
}

function busy({ root }: StateDir, { command, process: { pid } }: Owner, gone = 0): UserError {
  const already = gone === 0 ? "" : `; ${gone} runs had been forgotten by then`;
  const message = `${root} is in use by ${command} (pid ${pid}), which may need what would be forgotten${already}`;
  return new UserError("STATE_BUSY", message, {
    hint: "Stop it, forget, and start it again: nothing is lost by that.",
  });
}

/** Logs without a run. Only old ones: the logs of a run that is just beginning may be there before its row. */
async function removeLogs(state: StateDir, store: Store, before: Instant): Promise<number> {
  let removed = 0;
  for (const name of await foldersIn(state.runs)) {
    const folder = join(state.runs, name);
    if ((await store.runs({ id: runId(name) })).length > 0 || (await stat(folder)).mtimeMs >= before) continue;
    await rm(folder, { recursive: true, force: true });
    removed++;
  }
  return removed;
}

async function foldersIn(path: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch (error) {
    // No log was written yet.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

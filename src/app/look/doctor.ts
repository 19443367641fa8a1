/** Checks this machine and a state directory, and reports what it finds. Changes nothing. */

import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { formatBytes } from "../../domain/amounts/size.ts";
import { UserError } from "../../domain/errors.ts";
import type { RunNo } from "../../domain/run.ts";
import { isAlive } from "../../effects/host.ts";
import { sight } from "../../execute/process/marks.ts";
import { readStateId, slotsLeft } from "../../execute/process/register.ts";
import { brokenLaws } from "../../simulate/history/offline.ts";
import { openStore } from "../../store/open.ts";
import { replayAll, replayRun, replayRuns } from "../../store/replay.ts";
import type { Owner, Store } from "../../store/store.ts";
import type { Health } from "../../wire/answers.ts";
import type { StateDir } from "../config/state.ts";

export type Finding = Health["findings"][number];

const FREE_PROBLEM = 100 * 2 ** 20;
const FREE_WARNING = 2 ** 30;
/** A damaged ledger may be wrong about every task: the first few findings are enough. */
const SHOWN_MAX = 20;
const PRIVATE = 0o077;

type Env = Readonly<Record<string, string | undefined>>;

/** Every check in turn. Without a state directory only the machine is checked. */
export async function* diagnose(state: StateDir | undefined, env: Env): AsyncGenerator<Finding> {
  yield { check: "node", health: "ok", message: `Node ${process.versions.node}` };
  yield { check: "sqlite", health: "ok", message: `SQLite ${process.versions.sqlite ?? "unknown"}` };
  if (state === undefined) {
    yield {
      check: "state",
      health: "info",
      message: "There is no state directory here, so only the machine was looked at.",
    };
  } else yield* diagnoseState(state);
  yield await findProgram("git", env);
  yield await findProgram("tmux", env);
}

async function* diagnoseState(state: StateDir): AsyncGenerator<Finding> {
  yield await checkPermissions(state);
  yield await checkDisk(state);
  let store: Store;
  try {
    store = openStore({ database: state.database, readOnly: true });
  } catch (error) {
    yield unreadable(error);
    return;
  }
  await using opened = store;
  try {
    yield* diagnoseStore(opened, state);
  } catch (error) {
    yield unreadable(error);
  }
}

async function* diagnoseStore(store: Store, state: StateDir): AsyncGenerator<Finding> {
  const damage = await store.check();
  if (damage.length > 0) {
    yield* damage
      .slice(0, SHOWN_MAX)
      .map((message): Finding => ({ check: "store", health: "problem", message, hint: SAVE }));
    yield await findReadable(store);
    return;
  }
  yield { check: "store", health: "ok", message: `${state.database} is whole` };
  const owner = await store.owner();
  const scheduler = owner?.lives ? owner : undefined;
  yield* checkLedger(store, scheduler !== undefined);
  yield checkOwner(owner, scheduler);
  yield* checkProcesses(state, scheduler);
}

const SAVE =
  "Copy the directory before you do anything else. Put back a copy from before the damage, or go on in a new one with --state DIR; " +
  "`sqlite3 rota.db .recover` saves what can still be read.";

/** A damaged store is not lost as a whole: every row is checked against its checksum, so what can be read is right. */
async function findReadable(store: Store): Promise<Finding> {
  const check = "store";
  try {
    const rows = await store.runs();
    const readable: string[] = [];
    for (const { no, manifest } of rows) {
      const isWhole = await Promise.all([store.load(no), store.events({ run: no })]).then(
        () => true,
        () => false,
      );
      if (isWhole) readable.push(manifest.id);
    }
    const which = readable.length === 0 ? "" : `: ${readable.slice(-SHOWN_MAX).join(", ")}`;
    return { check, health: "info", message: `${readable.length} of ${rows.length} runs can still be read${which}` };
  } catch {
    return { check, health: "info", message: "not even the list of runs can be read" };
  }
}

function unreadable(error: unknown): Finding {
  if (!(error instanceof Error)) throw error;
  const hint = error instanceof UserError && error.code !== "STORE_CORRUPT" ? error.hint : SAVE;
  return { check: "store", health: "problem", message: error.message, hint };
}

async function checkPermissions({ root }: StateDir): Promise<Finding> {
  const check = "permissions";
  const { mode } = await stat(root);
  try {
    await access(root, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch {
    return {
      check,
      health: "problem",
      message: `${root} cannot be written to`,
      hint: "Make it yours, or use another with --state DIR.",
    };
  }
  if ((mode & PRIVATE) === 0) return { check, health: "ok", message: `${root} is yours alone` };
  const shown = (mode & 0o777).toString(8);
  const hint = `Logs may hold secrets: \`chmod 700 ${root}\`.`;
  return { check, health: "warning", message: `${root} is open to others (mode ${shown})`, hint };
}

async function checkDisk({ root }: StateDir): Promise<Finding> {
  const { bavail, bsize } = await statfs(root);
  const free = bavail * bsize;
  const health = free < FREE_PROBLEM ? "problem" : free < FREE_WARNING ? "warning" : "ok";
  const hint = health === "ok" ? {} : { hint: "Make room: a run stops when it can no longer be recorded." };
  return { check: "disk", health, message: `${formatBytes(free)} free`, ...hint };
}

/** What a scheduler is writing at this moment cannot be compared: only ended runs are. */
async function* checkLedger(store: Store, isLive: boolean): AsyncGenerator<Finding> {
  const rows = await store.runs();
  const ended = rows.filter(({ status }) => !isLive || status.state === "finished");
  const wrong = isLive
    ? await replayEnded(
        store,
        ended.map(({ no }) => no),
      )
    : await replayAll(store);
  const hint = "Nothing was changed. Keep a copy and report it: the ledger and the tables must never disagree.";
  yield* wrong.slice(0, SHOWN_MAX).map((message): Finding => ({ check: "ledger", health: "problem", message, hint }));
  if (wrong.length > SHOWN_MAX) {
    yield { check: "ledger", health: "problem", message: `and ${wrong.length - SHOWN_MAX} more`, hint };
  }
  if (wrong.length > 0) return;
  const left = rows.length - ended.length;
  const message = `${ended.length} of ${rows.length} runs replayed, and the tables agree`;
  yield { check: "ledger", health: "ok", message: left === 0 ? message : `${message}; ${left} still going on` };
  if (!isLive) yield* checkHistory(store);
}

/** A late report may be recorded meanwhile: a run that seems wrong is checked once more, by itself. */
async function replayEnded(store: Store, runs: readonly RunNo[]): Promise<readonly string[]> {
  const wrong: string[] = [];
  for (const [no, found] of await replayRuns(store, runs))
    if (found.length > 0) wrong.push(...(await replayRun(store, no)));
  return wrong;
}

/** A history that agrees with the tables may still break a law. */
async function* checkHistory(store: Store): AsyncGenerator<Finding> {
  const check = "history";
  const hint = "Nothing was changed. Keep a copy and report it: this should never happen.";
  const broken = await brokenLaws(store);
  if (broken.length === 0) yield { check, health: "ok", message: "no law of scheduling was broken" };
  yield* broken.slice(0, SHOWN_MAX).map((message): Finding => ({ check, health: "problem", message, hint }));
}

function checkOwner(owner: Owner | undefined, scheduler: Owner | undefined): Finding {
  const check = "scheduler";
  if (scheduler !== undefined) {
    return { check, health: "info", message: `${scheduler.command} (pid ${scheduler.process.pid}) is at work` };
  }
  if (owner === undefined) return { check, health: "ok", message: "none is at work" };
  return {
    check,
    health: "warning",
    message: `${owner.command} (pid ${owner.process.pid}) ended without giving the directory back`,
    hint: "`rota run PLAN --resume` goes on where it stopped.",
  };
}

/** Processes of tasks whose scheduler is gone. They end by themselves when their lease does; a process after that is a fault. */
function* checkProcesses({ root }: StateDir, scheduler: Owner | undefined): Generator<Finding> {
  const check = "processes";
  const stateId = readStateId(root);
  if (stateId === undefined || scheduler !== undefined) {
    yield { check, health: "ok", message: "nothing runs without a scheduler" };
    return;
  }
  const hint = "`rota run PLAN --resume` takes them over; `rota cancel` stops them.";
  const left = [...sight(stateId)];
  for (const [attempt, pids] of left) {
    yield { check, health: "warning", message: `${attempt} still runs (pid ${pids.join(", ")})`, hint };
  }
  const wrappers = slotsLeft(root).filter(({ wrapper }) => isAlive(wrapper));
  for (const { wrapper } of wrappers) {
    yield {
      check,
      health: "warning",
      message: `the wrapper of a task is left (pid ${wrapper.pid})`,
      hint: "It leaves by itself when its task has ended.",
    };
  }
  if (left.length + wrappers.length === 0)
    yield { check, health: "ok", message: "nothing is left of earlier schedulers" };
}

async function findProgram(name: string, env: Env): Promise<Finding> {
  for (const folder of (env["PATH"] ?? "").split(delimiter)) {
    if (folder === "") continue;
    const path = join(folder, name);
    const found = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return { check: name, health: "info", message: path };
  }
  return { check: name, health: "info", message: "not found; nothing here needs it" };
}

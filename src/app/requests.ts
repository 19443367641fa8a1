/** What a person asks of a run: written down first, so that it holds whoever hears it; then heard by the scheduler, or done here. */
import { userInfo } from "node:os";
import { UserError } from "../domain/errors.ts";
import type { TaskId } from "../domain/ids.ts";
import { findTask, type Run } from "../domain/run.ts";
import { isTerminal, type Task } from "../domain/task.ts";
import { later, seconds } from "../domain/time.ts";
import { systemClock } from "../effects/clock.ts";
import { openSqliteStore } from "../store/sqlite/store.ts";
import type { RequestKind, Store } from "../store/store.ts";
import { loadConfig } from "./config.ts";
import { lives, ringBell } from "./owner.ts";
import { findRun, loadRun, mustFindTask } from "./reader.ts";
import { existingState, type StateDir } from "./state.ts";
import { changes } from "./watch.ts";

export interface Wish {
  readonly kind: RequestKind;
  /** Which run, as a person names it. */
  readonly run: string | undefined;
  /** The whole run when absent. */
  readonly task: string | undefined;
  readonly why: string | undefined;
}

/**
 * `done`: it is so. `underway`: the scheduler has taken it up, and what runs is being stopped. `waiting`: it is written down, and
 * the scheduler has not answered yet. `kept`: no scheduler works here; it takes effect when the run is resumed.
 */
export const ANSWERS = ["done", "underway", "waiting", "kept"] as const;
export interface Answer {
  readonly answer: (typeof ANSWERS)[number];
  /** The run afterwards. */
  readonly run: Run;
  /** Whether another process schedules for it. */
  readonly scheduler: boolean;
}

/** How long an answer is waited for. What was asked holds all the same. */
const PATIENCE = seconds(3);

export async function ask(wish: Wish, where: Parameters<typeof existingState>[0]): Promise<Answer> {
  const state = existingState(where);
  const clock = systemClock();
  await using store = openSqliteStore(state.database);
  const row = await findRun({ store }, wish.run);
  const run = await loadRun({ store }, row);
  const task = wish.task === undefined ? undefined : mustFindTask(run, wish.task);
  refuseInVain(wish.kind, run, task);

  const no = await store.request({
    kind: wish.kind,
    run: row.manifest.id,
    by: userName(where.env),
    at: clock.now(),
    ...(task !== undefined && { task: task.spec.id }),
    ...(wish.why !== undefined && { why: wish.why }),
  });
  if (await isScheduled(store)) {
    ringBell(state, clock);
    const answer = await hear(store, state, run, task?.spec.id, wish.kind, no);
    if (answer !== undefined) return { ...answer, scheduler: true };
  }
  if (wish.kind !== "cancel") return { answer: "kept", run, scheduler: false };
  await doHere(state, run, where);
  const after = await loadRun({ store }, row);
  return { answer: isDone(wish.kind, after, task?.spec.id) ? "done" : "underway", run: after, scheduler: false };
}

function refuseInVain(kind: RequestKind, run: Run, task: Task | undefined): void {
  const { id } = run.manifest;
  switch (kind) {
    case "cancel":
      if (run.status.state === "finished")
        throw new UserError("CANNOT_CANCEL", `Run ${id} has ended (${run.status.outcome})`);
      if (task !== undefined && isTerminal(task.status.state)) {
        throw new UserError("CANNOT_CANCEL", `Task ${task.spec.id} has ended (${task.status.state})`);
      }
      return;
    case "approve": {
      if (task?.spec.gate === undefined) throw new UserError("CANNOT_APPROVE", `Task ${task?.spec.id} has no gate`);
      if (task.approved) throw new UserError("CANNOT_APPROVE", `Task ${task.spec.id} is approved already`);
      if (isTerminal(task.status.state)) {
        throw new UserError("CANNOT_APPROVE", `Task ${task.spec.id} has ended (${task.status.state})`);
      }
      return;
    }
    case "requeue":
      if (task?.status.state !== "parked") {
        throw new UserError("CANNOT_REQUEUE", `Task ${task?.spec.id} is ${task?.status.state}, not parked`);
      }
      return;
  }
}

const isScheduled = async (store: Store): Promise<boolean> => {
  const owner = await store.owner();
  return owner !== undefined && lives(owner);
};

/** Waits for what was asked to be so, by reading what the scheduler writes. Nothing when it left without having heard. */
async function hear(
  store: Store,
  state: StateDir,
  before: Run,
  task: TaskId | undefined,
  kind: RequestKind,
  no: number,
): Promise<Pick<Answer, "answer" | "run"> | undefined> {
  const enough = new AbortController();
  const clock = systemClock();
  const timer = clock.at(later(clock.now(), PATIENCE), () => enough.abort());
  let run = before;
  let taken = false;
  try {
    for await (const _ of changes([state.root], { signal: enough.signal, clock })) {
      const stays = await isScheduled(store);
      taken = (await store.requests()).every((request) => request.no !== no);
      if (!taken && !stays) return undefined;
      if (!taken) continue;
      run = await loadRun({ store }, before);
      if (isDone(kind, run, task)) return { answer: "done", run };
    }
  } finally {
    timer.cancel();
  }
  return { answer: taken ? "underway" : "waiting", run };
}

function isDone(kind: RequestKind, run: Run, id: TaskId | undefined): boolean {
  const task = id === undefined ? undefined : findTask(run, id);
  switch (kind) {
    case "cancel":
      return run.status.state === "finished" || (task !== undefined && isTerminal(task.status.state));
    case "approve":
      return task?.approved === true;
    case "requeue":
      return task?.status.state !== "parked";
  }
}

/** Owns the state directory for a moment: starts nothing, stops what has to stop, and lets go. */
async function doHere(state: StateDir, run: Run, { env, cwd }: Parameters<typeof existingState>[0]): Promise<void> {
  const [{ openCrew }, { openScheduler }] = await Promise.all([import("./crew.ts"), import("./scheduler.ts")]);
  const { values } = await loadConfig({ cwd, planDir: run.manifest.directory, env, flags: {} });
  const executor = openCrew({ state, config: values, environment: env });
  await using scheduler = await openScheduler({ config: values, state, executor, command: "rota cancel" });
  const { engine } = scheduler;
  engine.pause();
  const taken = await engine.resume(run.no);
  await engine.takeRequests();
  // Whatever else of it a dead scheduler left running goes back to its queue: nobody would look after it.
  engine.stopAll();
  await engine.idle(taken);
}

function userName(env: Readonly<Record<string, string | undefined>>): string {
  const named = env["USER"] ?? env["LOGNAME"];
  if (named !== undefined && named !== "") return named;
  try {
    return userInfo().username;
  } catch {
    return "unknown";
  }
}

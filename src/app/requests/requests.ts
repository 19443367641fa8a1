/** The requests of a person for a run: recorded first, so that they hold in any case; then a scheduler carries them out, or this process. */
import { UserError } from "../../domain/errors.ts";
import { type TaskId, taskId } from "../../domain/ids.ts";
import { findTask, type Run } from "../../domain/run.ts";
import { isTerminal } from "../../domain/task.ts";
import { later, seconds } from "../../domain/time.ts";
import { systemClock } from "../../effects/clock.ts";
import { openStore } from "../../store/open.ts";
import type { RequestKind, Store } from "../../store/store.ts";
import { refuseInside } from "../agents/attempts-around.ts";
import { loadConfig } from "../config/config.ts";
import { existingState, type StateDir } from "../config/state.ts";
import { findRun, loadRun, mustFindTask } from "../look/reader.ts";
import { changes } from "../look/watch.ts";
import { ringBell } from "./owner.ts";
import { refuseInVain } from "./refuse.ts";
import { userName } from "./user.ts";

export interface Wish {
  readonly kind: RequestKind;
  /** The run, as a person names it. */
  readonly run: string | undefined;
  /** The whole run when absent. */
  readonly task: string | undefined;
  readonly why: string | undefined;
}

/**
 * `done`: the request is carried out. `underway`: the scheduler has taken it up, and running attempts are being stopped. `waiting`: it is
 * recorded, and the scheduler has not answered yet. `kept`: no scheduler works here; it takes effect when the run is resumed.
 */
export const ANSWERS = ["done", "underway", "waiting", "kept"] as const;
export interface Answer {
  readonly answer: (typeof ANSWERS)[number];
  /** The run afterwards. */
  readonly run: Run;
  /** Whether another process schedules for it. */
  readonly scheduler: boolean;
}

/** How long to wait for an answer. The request holds all the same. */
const ANSWER_TIMEOUT = seconds(3);

export async function ask(wish: Wish, where: Parameters<typeof existingState>[0]): Promise<Answer> {
  const state = existingState(where);
  refuseInside(state.root, where.env);
  await using store = openStore({ database: state.database });
  const row = await findRun({ store }, wish.run);
  const run = await loadRun({ store }, row);
  const task = wish.task === undefined ? undefined : mustFindTask(run, wish.task);
  refuseInVain(wish.kind, run, task);

  if (await isScheduled(store)) {
    const answer = await tell({ store, state, run, task: task?.spec.id, wish, by: userName(where.env) });
    if (answer !== undefined) return { ...answer, scheduler: true };
  } else await leave(store, run, wish, userName(where.env));
  if (wish.kind !== "cancel") return { answer: "kept", run, scheduler: false };
  await doHere(state, run, where);
  const after = await loadRun({ store }, row);
  return { answer: isDone(wish.kind, after, task?.spec.id) ? "done" : "underway", run: after, scheduler: false };
}

/** A request for a run that another process schedules. */
interface Asking {
  readonly store: Store;
  readonly state: StateDir;
  readonly run: Run;
  readonly task: TaskId | undefined;
  readonly wish: Wish;
  readonly by: string;
}

/** A daemon is called; any other scheduler finds the request when its bell rings. Nothing when the scheduler left without having seen it. */
async function tell(asking: Asking): Promise<Pick<Answer, "answer" | "run"> | undefined> {
  const { store, state, run, wish, by } = asking;
  if (await callDaemon(asking)) return await hear(asking, async () => true);
  const no = await leave(store, run, wish, by);
  ringBell(state, systemClock());
  return await hear(asking, async () => (await store.requests()).every((request) => request.no !== no));
}

/** Whether a daemon has taken it. A refusal of the daemon is passed on. */
async function callDaemon({ state, run, wish, by }: Asking): Promise<boolean> {
  const { connect } = await import("../../wire/client.ts");
  await using client = connect({ state: state.root }, { by });
  const { task, why } = wish;
  const request = {
    run: run.manifest.id,
    ...(task !== undefined && { task }),
    ...(why !== undefined && { why }),
  };
  try {
    await client[wish.kind](request);
    return true;
  } catch (error) {
    const isAway = error instanceof UserError && (error.code === "DAEMON_MISSING" || error.code === "DAEMON_STOPPING");
    if (isAway) return false;
    throw error;
  }
}

const leave = (store: Store, { manifest }: Run, { kind, task, why }: Wish, by: string): Promise<number> =>
  store.request({
    kind,
    run: manifest.id,
    by,
    at: systemClock().now(),
    ...(task !== undefined && { task: taskId(task) }),
    ...(why !== undefined && { why }),
  });

const isScheduled = async (store: Store): Promise<boolean> => (await store.owner())?.lives === true;

/** Waits for the effect of the request, by reading what the scheduler writes. Nothing when the scheduler left without having seen it. */
async function hear(
  { store, state, run: before, task, wish }: Asking,
  isTaken: () => Promise<boolean>,
): Promise<Pick<Answer, "answer" | "run"> | undefined> {
  const enough = new AbortController();
  const clock = systemClock();
  const timer = clock.at(later(clock.now(), ANSWER_TIMEOUT), () => enough.abort());
  let run = before;
  const look = async (): Promise<Answer["answer"] | undefined> => {
    const stays = await isScheduled(store);
    if (!(await isTaken())) return stays ? "waiting" : undefined;
    run = await loadRun({ store }, before);
    return isDone(wish.kind, run, task) ? "done" : "underway";
  };
  const isOpen = (answer: Answer["answer"] | undefined): boolean => answer === "waiting" || answer === "underway";
  let answer: Answer["answer"] | undefined = "waiting";
  try {
    for await (const _ of changes([state.root], { signal: enough.signal, clock })) {
      answer = await look();
      if (!isOpen(answer)) break;
    }
  } finally {
    timer.cancel();
  }
  // The time may be over because this process had to wait for the processor, and not for an answer.
  if (isOpen(answer)) answer = await look();
  return answer && { answer, run };
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
  const [{ openCrew }, { openScheduler }] = await Promise.all([import("../crew.ts"), import("../scheduler.ts")]);
  const { values } = await loadConfig({ cwd, planDir: run.manifest.directory, env, flags: {} });
  const executor = openCrew({ state, config: values, environment: env });
  await using scheduler = await openScheduler({ config: values, state, executor, command: "rota cancel" });
  const { engine } = scheduler;
  engine.pause();
  const taken = await engine.resume(run.no);
  await engine.takeRequests();
  // All other attempts of a dead scheduler go back to their queue: no scheduler would look after them.
  engine.stopAll();
  await engine.idle(taken);
}

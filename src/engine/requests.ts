/** Does what a person asked for. What cannot be done any more is let be: the request came too late. */
import { isGateClosed } from "../domain/needs.ts";
import { findTask, type Run } from "../domain/run.ts";
import { type Asked, cancellerOf, isHeld, isTerminal, type Task } from "../domain/task.ts";
import type { World } from "../domain/world.ts";
import type { PendingRequest, Store } from "../store/store.ts";
import type { Stopper } from "./stopper.ts";
import type { Turn } from "./turn.ts";
import type { TurnRules } from "./turn-rules.ts";
import type { Turns } from "./turns.ts";

export interface RequestsDeps {
  readonly store: Pick<Store, "requests">;
  readonly world: World;
  readonly stopper: Stopper;
  readonly turns: Pick<Turns, "durably">;
  readonly rules: Pick<TurnRules, "touch">;
  /** Writes down that this scheduler goes on with a run that could not. */
  readonly reopen: (turn: Turn, run: Run) => void;
}

export class Requests {
  readonly #deps: RequestsDeps;
  #taken: Promise<void> = Promise.resolve();

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
  }

  /** Deals with whatever people have asked for since the last time. */
  take(): Promise<void> {
    // One after the other, so that what is being dealt with is not read again.
    const taken = this.#taken.then(() => this.#take());
    this.#taken = taken.catch(() => {});
    return taken;
  }

  async #take(): Promise<void> {
    const { store, world, turns } = this.#deps;
    const requests = await store.requests();
    const mine = requests.filter(({ run }) => world.findRun(run) !== undefined);
    if (mine.length === 0) return;
    await turns.durably((turn) => {
      for (const request of mine) this.#obey(turn, request);
    });
  }

  #obey(turn: Turn, request: PendingRequest): void {
    const { world, stopper, rules, reopen } = this.#deps;
    const run = world.findRun(request.run);
    turn.journal.requestDone(request.no);
    // It ended, and was forgotten, between being read and being dealt with: it came too late.
    if (run === undefined) return;
    obey(turn, stopper, run, request);
    if (run.status.state === "stalled") reopen(turn, run);
    rules.touch(run);
  }
}

function obey(turn: Turn, stopper: Stopper, run: Run, { kind, task: id, by, why }: PendingRequest): void {
  if (run.status.state === "finished") return;
  const asked = why === undefined ? { by } : { by, why };
  const tasks = id === undefined ? run.tasks : [findTask(run, id)].filter((task) => task !== undefined);
  switch (kind) {
    case "cancel":
      if (id === undefined) turn.journal.ofRun(run.no, { kind: "run_cancelling", ...asked }, turn.now);
      for (const task of tasks) cancel(turn, stopper, run, task, asked);
      return;
    case "requeue":
      for (const task of tasks) {
        if (task.status.state === "parked") turn.journal.ofTask(run, task, { kind: "requeued", asked }, turn.now);
      }
      return;
    case "approve":
      for (const task of tasks) {
        const waits = isGateClosed(task) && !isTerminal(task.status.state);
        if (waits) turn.journal.ofTask(run, task, { kind: "approved", asked }, turn.now);
      }
      return;
  }
}

/** What runs is stopped first, and is cancelled when nothing of it is left. */
function cancel(turn: Turn, stopper: Stopper, run: Run, task: Task, asked: Asked): void {
  const { status } = task;
  if (isTerminal(status.state)) return;
  if (!isHeld(status)) return turn.journal.ofTask(run, task, { kind: "cancelled", asked }, turn.now);
  if (cancellerOf(status) !== undefined) return;
  stopper.stop(turn, run, task, { kind: "cancelled", asked });
}

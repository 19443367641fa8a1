/** Carries out the requests of people. A request that came too late is dropped. */

import { findTask, type Run } from "../domain/run.ts";
import { type Asked, cancellerOf, isHeld, isTerminal, type Task } from "../domain/task.ts";
import { isGateClosed } from "../domain/waiting/needs.ts";
import type { World } from "../domain/world.ts";
import type { PendingRequest, Store } from "../store/store.ts";
import type { Turn } from "./turn/turn.ts";
import type { TurnRules } from "./turn/turn-rules.ts";
import type { Turns } from "./turn/turns.ts";
import type { Stopper } from "./work/stopper.ts";

export interface RequestsDeps {
  readonly store: Pick<Store, "requests">;
  readonly world: World;
  readonly stopper: Stopper;
  readonly turns: Pick<Turns, "durably">;
  readonly rules: Pick<TurnRules, "touch">;
  /** Records that this scheduler continues a stalled run. */
  readonly reopen: (turn: Turn, run: Run) => void;
}

export class Requests {
  readonly #deps: RequestsDeps;
  #taken: Promise<void> = Promise.resolve();

  constructor(deps: RequestsDeps) {
    this.#deps = deps;
  }

  /** Carries out the requests since the last call. */
  take(): Promise<void> {
    // One after the other, so that a request in progress is not read again.
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
    turn.pending.requestDone(request.no);
    // The run ended, and was forgotten, after the request was read: it came too late.
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
      if (id === undefined) turn.pending.ofRun(run.no, { kind: "run_cancelling", ...asked }, turn.now);
      for (const task of tasks) cancel(turn, stopper, run, task, asked);
      return;
    case "requeue":
      for (const task of tasks) {
        if (task.status.state === "parked") turn.pending.ofTask(run, task, { kind: "requeued", asked }, turn.now);
      }
      return;
    case "approve":
      for (const task of tasks) {
        const waits = isGateClosed(task) && !isTerminal(task.status.state);
        if (waits) turn.pending.ofTask(run, task, { kind: "approved", asked }, turn.now);
      }
      return;
  }
}

/** A running task is stopped first, and is cancelled when its attempt has ended. */
function cancel(turn: Turn, stopper: Stopper, run: Run, task: Task, asked: Asked): void {
  const { status } = task;
  if (isTerminal(status.state)) return;
  if (!isHeld(status)) return turn.pending.ofTask(run, task, { kind: "cancelled", asked }, turn.now);
  if (cancellerOf(status) !== undefined) return;
  stopper.stop(turn, run, task, { kind: "cancelled", asked });
}

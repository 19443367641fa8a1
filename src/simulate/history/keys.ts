/** What must hold for idempotency keys: a key is done once, no worker works on a key that is done, and never two on a key that is not. */
import { isTaken, type Outcome, type TaskRef } from "../../domain/outcome.ts";
import type { RunNo } from "../../domain/run.ts";
import { isHeld, nameOf, type SeenRun, type SeenTask } from "./seen.ts";

type Say = (law: string) => void;

export class KeyLaws {
  readonly #runs: ReadonlyMap<RunNo, SeenRun>;
  readonly #done = new Map<string, SeenTask>();
  readonly #begun = new Map<string, SeenTask>();

  constructor(runs: ReadonlyMap<RunNo, SeenRun>) {
    this.#runs = runs;
  }

  claim(task: SeenTask, say: Say): void {
    const key = task.spec.idempotencyKey;
    if (key === undefined) return;
    const [done, begun] = [this.#done.get(key), this.#begun.get(key)];
    if (done !== undefined) say(`its key is done: ${nameOf(done)} has succeeded`);
    if (begun !== undefined && begun !== task && isHeld(begun)) say(`${nameOf(begun)} is at work with the same key`);
    this.#begun.set(key, task);
  }

  /** Called before the event changes the task. */
  succeed(task: SeenTask, outcome: Outcome, say: Say): void {
    const key = task.spec.idempotencyKey;
    if (isTaken(outcome)) return this.#take(task, outcome.takenFrom, say);
    if (key === undefined) return;
    const done = this.#done.get(key);
    if (done !== undefined) say(`${nameOf(done)} has succeeded with the same key`);
    this.#done.set(key, task);
  }

  #take(task: SeenTask, from: TaskRef, say: Say): void {
    const key = task.spec.idempotencyKey;
    const done = key === undefined ? undefined : this.#done.get(key);
    if (task.state !== "waiting") say(`it takes a result while it is ${task.state}`);
    if (task.cancelAsked) say("it was asked to be cancelled, and takes a result");
    if (key === undefined) say("it takes a result and has no key");
    const isThere = [...this.#runs.values()].some(({ manifest }) => manifest.id === from.run);
    if (done === undefined && isThere) say(`it takes the result of ${from.task}, which has not done it`);
    // A run that was forgotten is not seen here any more.
    else if (done !== undefined && isThere && nameOf(done) !== `${from.run}/${from.task}`)
      say(`it takes the result of ${from.task}, where ${nameOf(done)} has done it`);
  }
}

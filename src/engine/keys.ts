/**
 * Tasks with an idempotency key: what one of them has done is not done again, whichever run asks for it. The others take its result as soon
 * as they are ready. What is done is in the store; here is what concerns the runs that are known, those included that are being submitted.
 */
import { takenFrom } from "../domain/outcome.ts";
import type { Run } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import type { Task } from "../domain/task.ts";
import type { Change } from "../domain/world.ts";
import type { DoneKey, Store } from "../store/store.ts";
import { doneKeys } from "./done-keys.ts";
import type { Turn } from "./turn.ts";

export interface KeysDeps {
  readonly store: Pick<Store, "doneWith">;
  /** Kept when everything that was decided so far is durable. */
  readonly written: () => Promise<void>;
}

export class Keys {
  readonly #deps: KeysDeps;
  /** In how many runs there are tasks with the key. */
  readonly #named = new Map<string, number>();
  readonly #done = new Map<string, DoneKey>();
  /** Tasks with the key that are ready. */
  readonly #ready = new Map<string, Map<Task, Run>>();
  /** Done, and there may be a task that is ready to take what came of it. */
  readonly #due = new Set<string>();

  constructor(deps: KeysDeps) {
    this.#deps = deps;
  }

  /** Asks the store what is done of a plan that is about to be taken up. From here on, what is done meanwhile is remembered. */
  async recall(specs: readonly TaskSpec[]): Promise<void> {
    const keys = keysOf(specs);
    if (keys.length === 0) return;
    for (const key of keys) this.#named.set(key, (this.#named.get(key) ?? 0) + 1);
    // What has succeeded before this is in the store then, and nowhere else.
    await this.#deps.written();
    for (const done of await this.#deps.store.doneWith(keys)) this.#learn(done);
  }

  /** The run has ended, or is not taken up after all. */
  forget(specs: readonly TaskSpec[]): void {
    for (const key of keysOf(specs)) {
      const left = (this.#named.get(key) ?? 1) - 1;
      if (left > 0) this.#named.set(key, left);
      else for (const each of [this.#named, this.#done, this.#ready]) each.delete(key);
    }
  }

  /** Takes up a run that was begun before. */
  admit(run: Run): void {
    for (const task of run.tasks) this.#place(run, task);
  }

  observe({ run, task, from, to, cause }: Change): void {
    if (task.spec.idempotencyKey === undefined) return;
    if (from.state === "ready" || to.state === "ready") this.#place(run, task);
    // It may have moved because another one has succeeded; what an earlier run has done is in the store already.
    if (to.state !== "succeeded" || cause.kind !== "succeeded") return;
    for (const done of doneKeys(run, task, to.outcome)) this.#learn(done);
  }

  /** Gives what is done to the tasks that are ready for it. What that makes ready is looked at as well. */
  settle({ now, journal }: Turn): void {
    for (const key of this.#due) {
      this.#due.delete(key);
      const done = this.#done.get(key);
      if (done === undefined) continue;
      const outcome = takenFrom(done.by, done);
      for (const [task, run] of [...(this.#ready.get(key) ?? [])]) {
        journal.ofTask(run, task, { kind: "succeeded", outcome }, now);
      }
    }
  }

  #learn(done: DoneKey): void {
    if (!this.#done.has(done.key)) this.#done.set(done.key, done);
    this.#due.add(done.key);
  }

  #place(run: Run, task: Task): void {
    const key = task.spec.idempotencyKey;
    if (key === undefined) return;
    const ready = this.#ready.get(key) ?? new Map<Task, Run>();
    this.#ready.set(key, ready);
    if (task.status.state !== "ready") return void ready.delete(task);
    ready.set(task, run);
    if (this.#done.has(key)) this.#due.add(key);
  }
}

function keysOf(specs: readonly TaskSpec[]): readonly string[] {
  const keys = new Set<string>();
  for (const { idempotencyKey } of specs) if (idempotencyKey !== undefined) keys.add(idempotencyKey);
  return [...keys];
}

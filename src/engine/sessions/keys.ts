/**
 * Tasks with an idempotency key: work that one of them has done is not done again, in whatever run. The others take its result as soon
 * as they are ready. The store has the keys that are done; here are the keys of the runs in memory, and of runs that are being submitted.
 */
import { takenFrom } from "../../domain/outcome.ts";
import type { Run } from "../../domain/run.ts";
import type { TaskSpec } from "../../domain/spec.ts";
import type { Task } from "../../domain/task.ts";
import type { Change } from "../../domain/world.ts";
import type { DoneKey, Store } from "../../store/store.ts";
import type { Turn } from "../turn/turn.ts";
import { doneKeys } from "../work/done-keys.ts";

export interface KeysDeps {
  readonly store: Pick<Store, "doneWith">;
  /** Resolves when everything that was decided so far is durable. */
  readonly written: () => Promise<void>;
}

export class Keys {
  readonly #deps: KeysDeps;
  /** How many runs have tasks with the key. */
  readonly #named = new Map<string, number>();
  readonly #done = new Map<string, DoneKey>();
  /** Tasks with the key that are ready. */
  readonly #ready = new Map<string, Map<Task, Run>>();
  /** Keys that are done, and for which a task may be ready to take the result. */
  readonly #due = new Set<string>();

  constructor(deps: KeysDeps) {
    this.#deps = deps;
  }

  /** Asks the store which keys of a plan are done, before the plan is taken up. From here on, keys that get done are remembered. */
  async recall(specs: readonly TaskSpec[]): Promise<void> {
    const keys = keysOf(specs);
    if (keys.length === 0) return;
    for (const key of keys) this.#named.set(key, (this.#named.get(key) ?? 0) + 1);
    // Successes from before this are in the store then, and nowhere else.
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

  /** Takes up a run of an earlier scheduler. */
  admit(run: Run): void {
    for (const task of run.tasks) this.#place(run, task);
  }

  observe({ run, task, from, to, cause }: Change): void {
    if (task.spec.idempotencyKey === undefined) return;
    if (from.state === "ready" || to.state === "ready") this.#place(run, task);
    // It may have succeeded by taking another task's result; a key that an earlier run has done is in the store already.
    if (to.state !== "succeeded" || cause.kind !== "succeeded") return;
    for (const done of doneKeys(run, task, to.outcome)) this.#learn(done);
  }

  /** Gives the results of done keys to the tasks that are ready for them. Tasks that become ready by that are included. */
  settle({ now, pending }: Turn): void {
    for (const key of this.#due) {
      this.#due.delete(key);
      const done = this.#done.get(key);
      if (done === undefined) continue;
      const outcome = takenFrom(done.by, done);
      for (const [task, run] of [...(this.#ready.get(key) ?? [])]) {
        pending.ofTask(run, task, { kind: "succeeded", outcome }, now);
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

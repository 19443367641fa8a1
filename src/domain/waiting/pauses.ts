/** What is on hold, and how far each pause reaches. */

import type { Run, RunNo } from "../run.ts";
import { poolOf } from "../spec.ts";
import type { Task } from "../task.ts";
import { type Pause, type PauseScope, scopeKey } from "./pause.ts";

export class Pauses {
  #pauses: ReadonlyMap<string, Pause> = new Map();
  readonly #tasks = new Map<Task, Pause>();

  /** Takes over what is on hold now and gives the scopes that have changed. `runOf` gives the runs that the World has. */
  set(pauses: ReadonlyMap<string, Pause>, runOf: (no: RunNo) => Run | undefined): readonly PauseScope[] {
    const before = this.#pauses;
    if (before.size + pauses.size === 0) return [];
    this.#pauses = new Map(pauses);
    this.#tasks.clear();
    for (const pause of pauses.values()) {
      const { scope } = pause;
      const run = scope.of === "task" ? runOf(scope.run) : undefined;
      if (scope.of === "task" && run !== undefined) this.#spread(run, run.tasks[scope.task] as Task, pause);
    }
    const changed = [...before, ...pauses].filter(([key]) => before.get(key) !== pauses.get(key));
    return changed.map(([, { scope }]) => scope);
  }

  /** Why the task is on hold, the widest reason first. */
  of(run: Run, task: Task): Pause | undefined {
    if (this.#pauses.size === 0) return undefined;
    return (
      this.#pauses.get("scheduler") ??
      this.#pauses.get(scopeKey({ of: "pool", pool: poolOf(task.spec) })) ??
      this.#pauses.get(scopeKey({ of: "run", run: run.no })) ??
      this.#tasks.get(task)
    );
  }

  /** A task's pause reaches everything that depends on it. */
  #spread(run: Run, from: Task, pause: Pause): void {
    const todo = [from];
    for (let task = todo.pop(); task !== undefined; task = todo.pop()) {
      if (this.#tasks.has(task)) continue;
      this.#tasks.set(task, pause);
      run.graph.eachDependent(task.no, (no) => void todo.push(run.tasks[no] as Task));
    }
  }
}

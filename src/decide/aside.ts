/** Those who may not be given out for now although they are ready: a person put them on hold, or they are kept for one session. */
import type { WorkerId } from "../domain/ids.ts";
import { type Pause, type PauseScope, scopeKey } from "../domain/pause.ts";
import type { Run, RunNo } from "../domain/run.ts";
import { LOCAL_POOL } from "../domain/spec.ts";
import type { Task } from "../domain/task.ts";
import type { Candidate } from "./queue.ts";

/** What is on hold, and how far each pause reaches. A task's pause reaches everything that depends on it. */
export class Pauses {
  #pauses: ReadonlyMap<string, Pause> = new Map();
  readonly #tasks = new Map<Task, Pause>();

  /** What is on hold now. `runOf` gives the runs that are known here. Gives what has changed. */
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
      this.#pauses.get(scopeKey({ of: "pool", pool: task.spec.pool ?? LOCAL_POOL })) ??
      this.#pauses.get(scopeKey({ of: "run", run: run.no })) ??
      this.#tasks.get(task)
    );
  }

  #spread(run: Run, from: Task, pause: Pause): void {
    const todo = [from];
    for (let task = todo.pop(); task !== undefined; task = todo.pop()) {
      if (this.#tasks.has(task)) continue;
      this.#tasks.set(task, pause);
      run.graph.eachDependent(task.no, (no) => void todo.push(run.tasks[no] as Task));
    }
  }
}

export class Aside {
  readonly pauses: Pauses;
  /** For whom each is kept that is kept for somebody. */
  readonly #kept = new Map<Candidate, WorkerId>();
  readonly #offered = new Map<WorkerId, Set<Candidate>>();

  constructor(pauses: Pauses) {
    this.pauses = pauses;
  }

  /** Puts the candidate aside if it has to be. */
  takes(candidate: Candidate): boolean {
    const { run, task } = candidate;
    const { offer } = task;
    if (offer === undefined && this.pauses.of(run, task) === undefined) return false;
    candidate.standing = "aside";
    if (offer !== undefined) {
      this.#kept.set(candidate, offer.session);
      const offered = this.#offered.get(offer.session) ?? new Set();
      this.#offered.set(offer.session, offered.add(candidate));
    }
    return true;
  }

  remove(candidate: Candidate): void {
    candidate.standing = "waits";
    const session = this.#kept.get(candidate);
    if (session === undefined) return;
    this.#kept.delete(candidate);
    const offered = this.#offered.get(session);
    offered?.delete(candidate);
    if (offered?.size === 0) this.#offered.delete(session);
  }

  /** Everything that is kept for somebody. */
  *offered(): Iterable<Candidate> {
    for (const offered of this.#offered.values()) yield* offered;
  }

  /** Whether something is kept for the session. */
  isFor(session: WorkerId): boolean {
    return this.#offered.has(session);
  }

  /** What is kept for the session, and is not on hold. */
  offeredTo(session: WorkerId): readonly Candidate[] {
    return [...(this.#offered.get(session) ?? [])].filter(({ run, task }) => this.pauses.of(run, task) === undefined);
  }
}

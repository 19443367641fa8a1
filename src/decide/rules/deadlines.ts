/** When something must be looked at again, without looking at everything: leases and time-outs of held tasks in one heap. */
import type { Run } from "../../domain/run.ts";
import { isHeld, type Task } from "../../domain/task.ts";
import type { Instant } from "../../domain/time.ts";
import type { Change } from "../../domain/world.ts";
import { Heap } from "../../std/heap.ts";

interface Watched {
  at: Instant;
  place: number;
  readonly run: Run;
  readonly task: Task;
}

/** Follows the changes of the World: one entry for each held task, gone as soon as it is not held any more. */
export class Deadlines {
  readonly #heap = new Heap<Watched>((a, b) => a.at < b.at);
  readonly #watched = new Map<Task, Watched>();
  readonly #next: (run: Run, task: Task) => Instant | undefined;

  /** `next` says when a held task must next be looked at, if at all. */
  constructor(next: (run: Run, task: Task) => Instant | undefined) {
    this.#next = next;
  }

  observe({ run, task, to }: Change): void {
    if (isHeld(to)) this.watch(run, task);
    else this.#forget(task);
  }

  /** Looks at the task's deadline again, which may have moved. */
  watch(run: Run, task: Task): void {
    const at = this.#next(run, task);
    if (at === undefined) return this.#forget(task);
    const known = this.#watched.get(task);
    if (known !== undefined) {
      known.at = at;
      return this.#heap.update(known);
    }
    const watched: Watched = { at, place: -1, run, task };
    this.#watched.set(task, watched);
    this.#heap.push(watched);
  }

  /** Calls back for each task whose time has come, and expects it to have another one, or none, afterwards. */
  due(now: Instant, look: (run: Run, task: Task) => void): void {
    for (let top = this.#heap.peek(); top !== undefined && top.at <= now; top = this.#heap.peek()) {
      const { run, task } = top;
      this.#forget(task);
      look(run, task);
      if (isHeld(task.status) && !this.#watched.has(task)) this.watch(run, task);
    }
  }

  /** The next moment worth waking up for. */
  next(): Instant | undefined {
    return this.#heap.peek()?.at;
  }

  #forget(task: Task): void {
    const watched = this.#watched.get(task);
    if (watched === undefined) return;
    this.#heap.remove(watched);
    this.#watched.delete(task);
  }
}

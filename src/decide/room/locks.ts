/** Which task may touch which files now. Two tasks that touch the same files in conflicting ways never run at the same time. */
import { below, overlaps } from "../../domain/paths.ts";
import type { Run } from "../../domain/run.ts";
import type { Task } from "../../domain/task.ts";

export const HAZARD_KINDS = ["write-write", "read-write", "write-read"] as const;
/** First what the waiting task wants to do, then what the holder does. */
export type HazardKind = (typeof HAZARD_KINDS)[number];

export interface Hazard {
  readonly kind: HazardKind;
  readonly holder: Task;
  readonly path: string;
}

interface Claim {
  readonly task: Task;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
}

export class Locks {
  readonly #held = new Map<Task, Claim>();

  hold(run: Run, task: Task): void {
    if (touchesFiles(task)) this.#held.set(task, claimOf(run, task));
  }

  release(task: Task): void {
    this.#held.delete(task);
  }

  /** What would stand in the way of this task if the other task held its files. */
  between(run: Run, task: Task, otherRun: Run, other: Task): Hazard | undefined {
    if (!touchesFiles(task) || !touchesFiles(other)) return undefined;
    return between(claimOf(run, task), claimOf(otherRun, other));
  }

  /** What stands in the way of this task, if anything does. */
  conflict(run: Run, task: Task): Hazard | undefined {
    if (this.#held.size === 0 || !touchesFiles(task)) return undefined;
    const wanted = claimOf(run, task);
    for (const held of this.#held.values()) {
      const hazard = between(wanted, held);
      if (hazard !== undefined) return hazard;
    }
    return undefined;
  }
}

const touchesFiles = ({ spec }: Task): boolean => spec.reads.length > 0 || spec.writes.length > 0;

/** Paths are the plan's own, so two plans in two directories do not meet. */
const claimOf = ({ manifest }: Run, task: Task): Claim => ({
  task,
  reads: task.spec.reads.map((path) => below(manifest.directory, path)),
  writes: task.spec.writes.map((path) => below(manifest.directory, path)),
});

function between(wanted: Claim, held: Claim): Hazard | undefined {
  const meet = (a: readonly string[], b: readonly string[]): string | undefined =>
    a.find((path) => b.some((other) => overlaps(path, other)));
  const hazard = (kind: HazardKind, path: string | undefined): Hazard | undefined =>
    path === undefined ? undefined : { kind, holder: held.task, path };
  return (
    hazard("write-write", meet(wanted.writes, held.writes)) ??
    hazard("read-write", meet(wanted.reads, held.writes)) ??
    hazard("write-read", meet(wanted.writes, held.reads))
  );
}

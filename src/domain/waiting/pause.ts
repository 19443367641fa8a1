/** What a person has put on hold, how far that reaches, and who asked for it. */
import type { TaskNo } from "../graph.ts";
import type { RunNo } from "../run.ts";
import type { Asked } from "../task.ts";
import type { Instant } from "../time.ts";

/** Everything, one pool, one run, or one task with all that depends on it. */
export type PauseScope =
  | { readonly of: "scheduler" }
  | { readonly of: "pool"; readonly pool: string }
  | { readonly of: "run"; readonly run: RunNo }
  | { readonly of: "task"; readonly run: RunNo; readonly task: TaskNo };

export interface Pause {
  readonly scope: PauseScope;
  readonly asked: Asked;
  readonly at: Instant;
}

/** The same scope has the same key. */
export function scopeKey(scope: PauseScope): string {
  switch (scope.of) {
    case "scheduler":
      return "scheduler";
    case "pool":
      return `pool/${scope.pool}`;
    case "run":
      return `run/${scope.run}`;
    case "task":
      return `task/${scope.run}/${scope.task}`;
  }
}

/** The keys of what is on hold in this run: it ends with the run. */
export const pausesOf = (pauses: Iterable<Pause>, run: RunNo): readonly string[] =>
  [...pauses].filter(({ scope }) => "run" in scope && scope.run === run).map(({ scope }) => scopeKey(scope));

/**
 * Which version each task of the runs at hand has, so that whether a batch takes the rows to be what they are is known without asking for
 * them: nobody but the owner of a store changes them.
 */
import type { RunNo } from "../../domain/run.ts";
import type { TaskRow } from "../rows.ts";
import type { Batch, StoredRun } from "../store.ts";

export type Fit = "fits" | "differs" | "unknown";

export class Versions {
  readonly #runs = new Map<RunNo, Uint32Array>();

  /** A run that was read whole. What is known already is newer. */
  learn({ row, tasks }: StoredRun): void {
    if (row.status.state === "finished" || this.#runs.has(row.no)) return;
    const versions = new Uint32Array(row.tasks);
    for (const { task, version } of tasks) versions[task] = version;
    this.#runs.set(row.no, versions);
  }

  /** Whether the batch fits, which it is then taken to have been written. */
  take({ submitted, tasks, runs }: Pick<Batch, "submitted" | "tasks" | "runs">): Fit {
    let fit: Fit = "fits";
    for (const { run, specs } of submitted) {
      // Whether there may be another one is a law of the tables.
      if (this.#runs.has(run)) fit = "unknown";
      this.#runs.set(run, new Uint32Array(specs.length));
    }
    for (const { row, replaces } of tasks) {
      const found = this.#replace(row, replaces);
      if (found !== "fits" && fit !== "differs") fit = found;
    }
    for (const { no, status } of runs) if (status.state === "finished") this.#runs.delete(no);
    return fit;
  }

  #replace({ run, task, version }: TaskRow, replaces: number): Fit {
    const versions = this.#runs.get(run);
    if (versions === undefined) return "unknown";
    const found = versions[task];
    versions[task] = version;
    return found === replaces ? "fits" : "differs";
  }
}

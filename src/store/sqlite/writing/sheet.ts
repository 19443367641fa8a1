/**
 * The rows of a batch: plain values in the order of the columns, one row after the other, so that they can be bound as they are,
 * here or in another thread.
 */
import { packSpec } from "../../../domain/spec.ts";
import { invariant } from "../../../std/invariant.ts";
import type { TaskRow } from "../../rows.ts";
import type { Batch } from "../../store.ts";
import { addPages } from "../ledger/pages.ts";
import { type Moved, movesIn } from "../sums/seals.ts";
import type { Value } from "../sums/sums.ts";

/** The parts of a batch that are small, and are written as they are. */
type Rest = Omit<Batch, "events" | "submitted" | "tasks">;

/** The parts that may be large. `T` is the type of a part. */
export interface Rows<T = readonly Value[]> {
  readonly newRuns: T;
  readonly specs: T;
  /** Tasks that have no row yet, and tasks that have one, each of the latter followed by the version it replaces. */
  readonly freshTasks: T;
  readonly changedTasks: T;
  readonly pages: T;
}

export interface Sheet extends Rest {
  readonly rows: Rows;
  readonly moved: ReadonlyMap<number, Moved>;
  /** How much there is to write: planned tasks, changed tasks, and events. */
  readonly size: number;
}

export function sheetOf(batch: Batch): Sheet {
  const { events, submitted, tasks } = batch;
  const rows = { newRuns: [] as Value[], specs: [] as Value[], ...taskValues(tasks), pages: [] as Value[] };
  let size = tasks.length + events.length;
  for (const { run, manifest, specs } of submitted) {
    const { id, name, digest } = manifest;
    rows.newRuns.push(run, id, name, digest, JSON.stringify(manifest), specs.length, "active", null, null, 0);
    for (let no = 0; no < specs.length; no++) {
      const spec = specs[no];
      invariant(spec !== undefined, "specs are dense");
      rows.specs.push(run, no, spec.id, JSON.stringify(packSpec(spec)));
    }
    size += specs.length;
  }
  addPages(rows.pages, events);
  // One by one: taking some fields out of an object and spreading the others is slow, and every commit comes through here.
  const { epoch, runs, requestsDone, durationSamples, edited, sessions, pauses, answers, done } = batch;
  const moved = movesIn(tasks, events);
  return { epoch, runs, requestsDone, durationSamples, edited, sessions, pauses, answers, done, rows, moved, size };
}

/** The number of columns of a task's row, without its sum. */
export const TASK_WIDTH = 16;

function taskValues(tasks: Batch["tasks"]): Pick<Rows, "freshTasks" | "changedTasks"> {
  let fresh = 0;
  for (const { replaces } of tasks) if (replaces === 0) fresh++;
  // Made with their full length: growing them step by step takes three times the memory.
  const freshTasks = new Array<Value>(fresh * TASK_WIDTH);
  const changedTasks = new Array<Value>((tasks.length - fresh) * (TASK_WIDTH + 1));
  let [atFresh, atChanged] = [0, 0];
  for (const { row, replaces } of tasks) {
    if (replaces === 0) atFresh = putTask(freshTasks, atFresh, row);
    else {
      atChanged = putTask(changedTasks, atChanged, row);
      changedTasks[atChanged++] = replaces;
    }
  }
  return { freshTasks, changedTasks };
}

/** Gives the index for the next row. */
function putTask(values: Value[], from: number, row: TaskRow): number {
  let to = from;
  values[to++] = row.run;
  values[to++] = row.task;
  values[to++] = row.state;
  values[to++] = row.version;
  values[to++] = row.attempt;
  values[to++] = row.failures;
  values[to++] = row.expiries;
  values[to++] = Number(row.approved);
  values[to++] = row.since;
  values[to++] = row.notBefore;
  values[to++] = row.worker;
  values[to++] = row.deadline;
  values[to++] = row.tokenHash;
  values[to++] = row.lostBy;
  values[to++] = row.lane;
  values[to++] = row.detail === null ? null : JSON.stringify(row.detail);
  return to;
}

/** Answers "why is it not running?" from what is recorded, by asking a dispatcher that stands where the scheduler's does. */
import { Dispatcher } from "../decide/dispatcher.ts";
import { explain, waitsOf } from "../decide/explain.ts";
import { isTaskEvent } from "../domain/event.ts";
import type { Explanation, Wait } from "../domain/explanation.ts";
import { workerId } from "../domain/ids.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { Run } from "../domain/run.ts";
import type { Task } from "../domain/task.ts";
import { coreCount, machineCapacity } from "../effects/machine.ts";
import type { Reader } from "./reader.ts";

export async function explainTask(reader: Reader, run: Run, task: Task): Promise<Explanation> {
  const lastOutcome = await lastOutcomeOf(reader, run, task);
  const context = lastOutcome === undefined ? {} : { lastOutcome };
  return explain(await dispatcherOf(reader, run), run, task, reader.now(), context);
}

export interface Waits {
  /** The one reason why a task is not running, for those that wait. */
  readonly waitOf: (task: Task) => Wait | undefined;
  /** What there is to share, and what is free of it. */
  readonly resources: readonly { readonly name: string; readonly capacity: number; readonly free: number }[];
}

/** For every task of the run. */
export async function explainWaits(reader: Reader, run: Run): Promise<Waits> {
  const dispatcher = await dispatcherOf(reader, run);
  const own = `${run.no}:`;
  const resources = Array.from(dispatcher.pots(), ({ name, capacity, free }) => ({
    name: name.startsWith(own) ? name.slice(own.length) : name,
    capacity,
    free,
  }));
  return { waitOf: waitsOf(dispatcher, run, reader.now()), resources };
}

/** With what the scheduler has to give, or had: what it holds was taken from that. */
async function dispatcherOf(reader: Reader, run: Run): Promise<Dispatcher> {
  const owner = await reader.owner();
  const workers = owner?.workers ?? coreCount();
  const dispatcher = new Dispatcher({
    workers: Array.from({ length: workers }, (_, index) => workerId(`local/${index + 1}`)),
    capacity: owner?.capacity ?? machineCapacity(),
    capabilities: [],
  });
  // Only what the ledger remembers can be said of a service: how the last attempts went that depended on it.
  if (run.tasks.some(({ spec }) => spec.provider !== undefined)) {
    dispatcher.breakers.recall(run, await reader.store.events({ run: run.no }));
  }
  dispatcher.admit(run, await reader.store.history(run.manifest.name));
  return dispatcher;
}

async function lastOutcomeOf({ store }: Reader, run: Run, task: Task): Promise<Outcome | undefined> {
  const events = await store.events({ run: run.no, task: task.no });
  return events
    .flatMap((event) => (isTaskEvent(event) && "outcome" in event && event.outcome ? [event.outcome] : []))
    .at(-1);
}

/** The same answers from a scheduler's own dispatcher, for the command that runs it. */
export { blockers as blockersOf, waitsOf as waitsIn } from "../decide/explain.ts";

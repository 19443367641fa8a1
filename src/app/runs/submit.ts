/** From a plan to a run: a new run, or the interrupted one. */
import { UserError } from "../../domain/errors.ts";
import type { TaskNo } from "../../domain/graph.ts";
import type { Run, RunManifest } from "../../domain/run.ts";
import type { TaskSpec } from "../../domain/spec.ts";
import { type RunRow, restoreRun } from "../../store/rows.ts";
import type { Scheduler } from "../scheduler.ts";
import type { LoadedPlan } from "./plan-file.ts";

/** The result: the run goes on, or it had already ended. */
export type Opened = { readonly run: Run; readonly how: "submitted" | "resumed" | "finished" };

/**
 * Submits the plan, or continues the newest run of it that has not ended. A run that has ended is not run again; a plan that
 * was never run is simply begun, so that "resume" is right whenever the last try was cut short.
 */
export async function openRun(scheduler: Scheduler, loaded: LoadedPlan, resume: boolean): Promise<Opened> {
  const { how, row } = whatToOpen(await scheduler.store.runs(), loaded, resume);
  if (how === "resumed") {
    const run = await scheduler.engine.resume(row.no);
    await clearLeftovers(scheduler, run);
    return { run, how };
  }
  await clearLeftovers(scheduler, undefined);
  if (how === "finished") return { run: await readRun(scheduler, row), how };
  return { run: await submitRun(scheduler, await manifestOf(scheduler, loaded), loaded.plan.tasks), how };
}

type ToOpen =
  | { readonly how: "submitted"; readonly row?: never }
  | { readonly how: "resumed" | "finished"; readonly row: RunRow };

/** Which of the existing runs is meant, oldest first; none where a new one is to begin. */
export function whatToOpen(rows: readonly RunRow[], loaded: LoadedPlan, resume: boolean): ToOpen {
  const row = resume ? lastOfPlan(rows, loaded) : undefined;
  if (row === undefined) return { how: "submitted" };
  const isSame = row.manifest.digest === loaded.digest;
  const isPart = isMeant(row.manifest, loaded);
  if (row.status.state === "finished") return isSame && isPart ? { how: "finished", row } : { how: "submitted" };
  if (!isSame) throw planChanged(row);
  if (!isPart) throw otherPart(row, loaded);
  return { how: "resumed", row };
}

/** What comes with a submit: the key that submits once, and the caller. */
interface Called {
  readonly key?: string | undefined;
  readonly by?: string | undefined;
}

/** Has the engine admit the run. Until that has ended, no other caller gets the run's name. */
export async function submitRun(
  { engine, names }: Pick<Scheduler, "engine" | "names">,
  manifest: RunManifest,
  specs: readonly TaskSpec[],
  { key, by }: Called = {},
): Promise<Run> {
  try {
    return await engine.submit(manifest, specs, key, by);
  } finally {
    names.settled(manifest.id);
  }
}

/** A new run of the same tasks in which every task that had succeeded counts as done. Ended states are never undone. */
export async function retryRun(
  scheduler: Scheduler,
  row: RunRow,
  again: ReadonlySet<TaskNo> | "all",
  { clears = true, by }: { readonly clears?: boolean; readonly by?: string } = {},
): Promise<Run> {
  const old = await readRun(scheduler, row);
  if (old.status.state !== "finished") throw new UserError("RUN_ACTIVE", `Run ${row.manifest.id} has not ended`);
  const carried = old.tasks.filter(
    ({ status, no }) => status.state === "succeeded" && !(again !== "all" && again.has(no)),
  );
  if (carried.length === old.tasks.length) {
    throw new UserError("NOTHING_TO_RETRY", `Every task of ${row.manifest.id} has succeeded`);
  }
  // A daemon has taken up every earlier run.
  if (clears) await clearLeftovers(scheduler, undefined);
  const manifest: RunManifest = {
    ...row.manifest,
    id: await scheduler.names.take(row.manifest.name),
    submittedAt: scheduler.clock.now(),
    seed: scheduler.secrets.seed(),
    carried: carried.map(({ no }) => no),
    retryOf: row.manifest.id,
  };
  return submitRun(
    scheduler,
    manifest,
    old.tasks.map(({ spec }) => spec),
    { by },
  );
}

/** Stops the attempts of an earlier scheduler that were not taken over, and puts their tasks back in their queues. */
async function clearLeftovers({ engine, executor, store }: Scheduler, adopted: Run | undefined): Promise<void> {
  await executor.sweep();
  for (const { no } of await store.runs("unfinished")) if (no !== adopted?.no) await engine.shelve(no);
}

const lastOfPlan = (rows: readonly RunRow[], { file }: LoadedPlan): RunRow | undefined =>
  rows.findLast(({ manifest }) => manifest.file === file);

async function readRun({ store }: Scheduler, row: RunRow): Promise<Run> {
  const stored = await store.load(row.no);
  if (stored === undefined) throw new UserError("RUN_UNKNOWN", `There is no run ${row.manifest.id}`);
  return restoreRun(stored.row, stored.specs, stored.tasks);
}

export async function manifestOf(
  scheduler: Pick<Scheduler, "clock" | "secrets" | "names">,
  { plan, file, directory, digest, only }: LoadedPlan,
): Promise<RunManifest> {
  return {
    id: await scheduler.names.take(plan.name),
    name: plan.name,
    submittedAt: scheduler.clock.now(),
    directory,
    file,
    digest,
    seed: scheduler.secrets.seed(),
    resources: plan.resources,
    rates: plan.rates,
    ...(plan.weight !== undefined && { weight: plan.weight }),
    ...(plan.tenant !== undefined && { tenant: plan.tenant }),
    ...(only !== undefined && { only }),
    carried: [],
  };
}

const planChanged = ({ manifest }: RunRow): UserError =>
  new UserError("RUN_CHANGED", `${manifest.file} was changed since run ${manifest.id} was interrupted`);

/** A caller that resumes without naming tasks means the run whatever part of the plan it is. */
const isMeant = (run: Pick<RunManifest, "only">, { only }: Pick<LoadedPlan, "only">): boolean =>
  only === undefined || only.toSorted().join() === run.only?.toSorted().join();

const otherPart = ({ manifest }: RunRow, { only = [] }: LoadedPlan): UserError =>
  new UserError(
    "RUN_CHANGED",
    `Run ${manifest.id} was interrupted, and it is ${partOf(manifest)}, not only ${only.join(", ")}`,
    { hint: "Go on with it by `rota run PLAN --resume`, or begin the other part without --resume." },
  );

const partOf = ({ only }: Pick<RunManifest, "only">): string =>
  only === undefined ? "of the whole plan" : `only ${only.join(", ")}`;

/** Looks a run over that was written down: whether its events lead to what it says of its tasks, and whether they keep the laws. */
import { isDeepStrictEqual } from "node:util";
import { reduce } from "../../domain/reduce.ts";
import type { Run } from "../../domain/run.ts";
import { World } from "../../domain/world.ts";
import { HistoryChecker } from "../../simulate/history/checker.ts";
import type { Range } from "../../std/skips.ts";
import { standings } from "../../views/report/manifest.ts";
import { type KnownRun, readManifest } from "../runs/manifest.ts";
import type { Finding } from "./doctor.ts";

const SHOWN_MAX = 20;
const hint =
  "The file was changed after it was written, or the program that wrote it is at fault: keep it, and report it.";

export async function* diagnoseManifest(file: string): AsyncGenerator<Finding> {
  const known = await readManifest(file);
  const { reply, events } = known;
  const { id, state } = reply.run;
  const size = `${reply.tasks.length} tasks and ${events.length} events`;
  yield { check: "manifest", health: "ok", message: `run ${id} (${state}) of Rota ${reply.rota}, with ${size}` };
  yield* findings(
    "ledger",
    judged(() => differences(known)),
    "the events lead to what it says of the tasks",
  );
  yield* findings(
    "history",
    judged(() => broken(known)),
    "no law of scheduling was broken",
  );
}

function* findings(check: string, wrong: readonly string[], right: string): Generator<Finding> {
  if (wrong.length === 0) yield { check, health: "ok", message: right };
  yield* wrong.slice(0, SHOWN_MAX).map((message): Finding => ({ check, health: "problem", message, hint }));
  if (wrong.length > SHOWN_MAX)
    yield { check, health: "problem", message: `and ${wrong.length - SHOWN_MAX} more`, hint };
}

/** What the events lead to, compared with what the document says. */
function differences({ no, events, reply }: KnownRun): readonly string[] {
  const world = new World();
  for (const event of events) {
    // The events of other runs are not here, so only the order can be checked.
    world.seq = event.seq - 1;
    const why = failureOf(() => reduce(world, event, []));
    if (why !== undefined) return [`event ${event.seq} (${event.kind}) does not follow: ${why}`];
  }
  const run = world.run(no);
  return run === undefined
    ? ["its events do not say that it was submitted"]
    : [...runDifferences(run, reply), ...taskDifferences(run, reply)];
}

function runDifferences({ status }: Run, { run }: KnownRun["reply"]): readonly string[] {
  const outcome = status.state === "active" ? null : status.outcome;
  if (status.state === run.state && outcome === run.outcome) return [];
  return [`the run is ${outcome ?? status.state} by its events, and ${run.outcome ?? run.state} by what it says`];
}

function taskDifferences(run: Run, { tasks }: KnownRun["reply"]): readonly string[] {
  const replayed = standings(run);
  if (replayed.length !== tasks.length)
    return [`its plan has ${replayed.length} tasks, and it speaks of ${tasks.length}`];
  return replayed.flatMap((task, at) =>
    isDeepStrictEqual(task, tasks[at])
      ? []
      : [
          `task ${task.task} is ${JSON.stringify(task)} by its events, and ${JSON.stringify(tasks[at])} by what it says`,
        ],
  );
}

function broken({ no, manifest, plan, events }: KnownRun): readonly string[] {
  const edited = events.flatMap((event) => (event.kind === "edited" ? [`${no}/${event.task}`] : []));
  const checker = new HistoryChecker({
    planOf: () => ({ manifest, specs: plan.tasks }),
    blurred: new Set(edited),
    forgotten: gaps(events.map(({ seq }) => seq)),
  });
  for (const event of events) {
    const why = failureOf(() => checker.add(event));
    if (why !== undefined) return [...checker.broken, `event ${event.seq} (${event.kind}) cannot be judged: ${why}`];
  }
  return checker.broken;
}

/** The positions of events of other runs. */
function gaps(seqs: readonly number[]): readonly Range[] {
  return seqs.flatMap((seq, at) => {
    const first = (seqs[at - 1] ?? 0) + 1;
    return first < seq ? [{ first, last: seq - 1 }] : [];
  });
}

function judged(look: () => readonly string[]): readonly string[] {
  let found: readonly string[] = [];
  const why = failureOf(() => (found = look()));
  return why === undefined ? found : [`it cannot be judged: ${why}`];
}

/** What was written down may be anything, so whatever goes wrong with it is an answer. */
function failureOf(look: () => void): string | undefined {
  try {
    look();
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What a dead scheduler left running of other runs is ended before a run begins. Whoever begins it is told, and how to go on with them. */
import type { Scheduler } from "../app/scheduler.ts";
import type { StateDir } from "../app/state.ts";
import type { Run, RunNo } from "../domain/run.ts";
import { plural } from "../views/moment.ts";
import { neutralize } from "../views/text.ts";
import type { Context } from "./command.ts";

/** Begins a run, and says what was ended for it. */
export async function beginning<T>(
  { engine, store }: Scheduler,
  { terminal, commandsTo }: Context,
  { root }: StateDir,
  begin: () => Promise<T>,
  runOf: (begun: T) => Run,
): Promise<T> {
  const returned = new Map<RunNo, number>();
  const stopListening = engine.listen((events) => {
    for (const { kind, run } of events) {
      if (kind === "expired" || kind === "released") returned.set(run, (returned.get(run) ?? 0) + 1);
    }
  });
  const begun = await begin().finally(stopListening);
  // What it has lost itself it does again.
  returned.delete(runOf(begun).no);
  for (const { no, manifest } of returned.size === 0 ? [] : await store.runs("unfinished")) {
    const count = returned.get(no);
    if (count === undefined) continue;
    terminal.err(
      `Run ${manifest.id} had lost its scheduler. What still ran of it was ended (${plural(count, "task")}). ` +
        `Go on with it: ${neutralize(commandsTo({ root })(["run", manifest.file, "--resume"]))}\n`,
    );
  }
  return begun;
}

/** Before a run begins, running attempts of other runs that a dead scheduler left are ended. The user is told so, and how to continue those runs. */

import type { StateDir } from "../../../app/config/state.ts";
import type { Scheduler } from "../../../app/scheduler.ts";
import type { Run, RunNo } from "../../../domain/run.ts";
import { plural } from "../../../views/text/moment.ts";
import { neutralize } from "../../../views/text/text.ts";
import type { Context } from "../../frame/command.ts";

/** Begins a run, and reports what was ended for it. */
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
  // Its own lost attempts are repeated by the run itself.
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

/** `rota prune`: forgets runs that ended long ago, and removes their logs. */

import { existingState } from "../../../app/config/state.ts";
import { currentTime } from "../../../app/look/now.ts";
import { type Pruned, prunable, prune } from "../../../app/look/prune.ts";
import { openReader } from "../../../app/look/reader.ts";
import { hours } from "../../../domain/time.ts";
import { plural } from "../../../views/text/moment.ts";
import type { Run } from "../../frame/command.ts";
import { say } from "../../frame/say.ts";

const OLD = hours(30 * 24);
const SHOWN_MAX = 20;

export const run: Run = async (input, context) => {
  const { env, cwd } = context;
  const where = { flag: input.text("state"), env, cwd };
  const pruning = { olderThan: input.span("older-than") ?? OLD, keep: input.count("keep") ?? 1, now: currentTime() };
  const isDry = input.flag("dry-run");
  const pruned = isDry ? await look(where, pruning) : await prune(existingState(where), pruning);
  const runs = pruned.runs.map(({ manifest }) => manifest.id);
  say<"prune">(input, context, { dry_run: isDry, runs, logs: pruned.logs }, () => linesOf(runs, pruned, isDry));
  return 0;
};

async function look(where: Parameters<typeof openReader>[0], pruning: Parameters<typeof prunable>[1]): Promise<Pruned> {
  await using reader = openReader(where);
  return { runs: await prunable(reader.store, pruning), logs: 0 };
}

function linesOf(runs: readonly string[], { logs }: Pruned, isDry: boolean): readonly string[] {
  const shown = isDry ? runs.slice(0, SHOWN_MAX) : [];
  const more = isDry && runs.length > shown.length ? [`and ${runs.length - shown.length} more`] : [];
  const end = isDry
    ? `${plural(runs.length, "run")} would be forgotten.`
    : `${plural(runs.length, "run")} forgotten, and the logs of ${logs}.`;
  return [...shown, ...more, end];
}

/** One session: how it is, and what it holds. */

import { formatDuration, type Instant, millis } from "../../domain/time.ts";
import type { SessionReply } from "../../wire/replies/session.ts";
import { type Line, paintSections, quiet, strong, type Theme, table, toned } from "../text/line.ts";
import { momentOf } from "./workers.ts";

export function sessionText(
  { session, pool, state, slots, holds }: Pick<SessionReply, "session" | "pool" | "state" | "slots" | "holds">,
  { columns, now }: { readonly columns: number; readonly now: Instant },
  theme: Theme,
): string[] {
  const head: Line = [strong(session), ` is ${state}`, quiet(`  pool ${pool} · holds ${holds.length} of ${slots}`)];
  const rows = holds.map(({ run, task, deadline, stop }): Line[] => [
    [toned("busy", "●"), " ", task],
    [quiet(`of ${run}`)],
    stop === undefined
      ? [quiet(`for another ${formatDuration(millis(Math.max(0, momentOf(deadline) - now)))}`)]
      : [toned("warn", `to be stopped: ${stop}`)],
  ]);
  return paintSections(
    [[head, ...table(rows, { columns: [{ shrinkTo: 16 }, { shrinkTo: 12 }, {}], width: columns })]],
    theme,
    columns,
  );
}

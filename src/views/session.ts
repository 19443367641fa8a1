/** One session: how it is, and what it holds. */
import { formatDuration, type Instant, millis } from "../domain/time.ts";
import { type Line, paintSections, quiet, strong, type Theme, table, toned } from "./line.ts";
import { momentOf } from "./workers.ts";

export interface SessionView {
  readonly session: string;
  readonly pool: string;
  readonly state: string;
  readonly slots: number;
  readonly holds: readonly {
    readonly run: string;
    readonly task: string;
    readonly deadline: string;
    readonly stop?: string;
  }[];
}

export function sessionText(
  { session, pool, state, slots, holds }: SessionView,
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

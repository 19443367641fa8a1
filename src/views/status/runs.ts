/** The runs of a state directory, as a list. */

import type { RunManifest, RunStatus } from "../../domain/run.ts";
import { between, formatDuration, type Instant } from "../../domain/time.ts";
import type { AllRunsReply } from "../../wire/replies/status.ts";
import { type Line, paintAll, quiet, type Theme, table, toned } from "../text/line.ts";
import { age, grouped, iso } from "../text/moment.ts";
import { runState } from "./status.ts";
import { RUN_WORDS } from "./status-text.ts";

/** What the store says of a run without reading its tasks. */
export interface RunGlimpse {
  readonly manifest: RunManifest;
  readonly tasks: number;
  readonly status: RunStatus;
  readonly cancelling: boolean;
}

export interface RunsInput {
  /** Oldest first. */
  readonly runs: readonly RunGlimpse[];
  /** Whether a scheduler is at work in the state directory. */
  readonly owned: boolean;
  readonly now: Instant;
}

/** Older runs are shown only with `--json`. */
const RUNS_MAX = 10;

/** Newest first. */
export function runsText(
  { runs, owned, now }: RunsInput,
  { columns }: { readonly columns: number },
  theme: Theme,
): string[] {
  const shown = runs.toReversed().slice(0, RUNS_MAX);
  const rows = shown.map(({ manifest, tasks, status, cancelling }) => {
    const { word, tone, sign } = RUN_WORDS[runState({ status, cancelling }, owned)];
    const end = status.state === "active" ? now : status.at;
    return [
      [toned(tone, sign), " ", manifest.id],
      [toned(tone, word)],
      [grouped(tasks), quiet(tasks === 1 ? " task" : " tasks")],
      [formatDuration(between(manifest.submittedAt, end))],
      [quiet(`${age(manifest.submittedAt, now)} ago`)],
    ] satisfies Line[];
  });
  const columnsOf = [{ shrinkTo: 20 }, {}, { align: "right" }, { align: "right" }, { align: "right" }] as const;
  const more = runs.length - shown.length;
  const lines = table(rows, { columns: columnsOf, width: columns, indent: 0 });
  return paintAll(more > 0 ? [...lines, [quiet(`  and ${grouped(more)} older`)]] : lines, theme, columns);
}

/** For programs: all runs, oldest first. */
export const runsJson = ({ runs, owned }: RunsInput): AllRunsReply => ({
  runs: runs.map(({ manifest, tasks, status, cancelling }) => ({
    run: manifest.id,
    name: manifest.name,
    state: runState({ status, cancelling }, owned),
    tasks,
    submitted_at: iso(manifest.submittedAt),
    ended_at: status.state === "active" ? null : iso(status.at),
    file: manifest.file,
    ...(manifest.only !== undefined && { only: manifest.only }),
    ...(manifest.retryOf !== undefined && { retry_of: manifest.retryOf }),
  })),
});

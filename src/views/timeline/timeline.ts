/** Which attempts ran when and where, from the ledger of a run. Text, SVG and HTML are drawn from this one model. */

import { type Event, isTaskEvent } from "../../domain/event.ts";
import type { TaskNo } from "../../domain/graph.ts";
import type { RunId, TaskId, WorkerId } from "../../domain/ids.ts";
import { describeOutcome, type Outcome } from "../../domain/outcome.ts";
import { type Run, taskOf } from "../../domain/run.ts";
import { type Instant, instant, later } from "../../domain/time.ts";
import type { TimelineReply } from "../../wire/replies/run.ts";
import { type Titled, titleOf } from "../status/named.ts";
import { iso } from "../text/moment.ts";
import { type AttemptEnd, endOf } from "./attempt-end.ts";
import { RunProgress } from "./run-progress.ts";

export interface TimelineAttempt extends Titled {
  readonly task: TaskId;
  readonly attempt: number;
  readonly worker: WorkerId;
  readonly claimedAt: Instant;
  /** Absent when it was claimed and never started. */
  readonly startedAt?: Instant;
  /** Absent while it goes on. */
  readonly endedAt?: Instant;
  readonly end: AttemptEnd;
  /** In words: `exit code 1`. */
  readonly outcome?: string;
  /** Whether the length of the run depended on it. */
  readonly critical: boolean;
}

export interface Timeline {
  readonly run: RunId;
  readonly name: string;
  readonly state: string;
  readonly from: Instant;
  /** The end of the run, or now; of an interrupted one, the last thing that happened. */
  readonly to: Instant;
  readonly tasks: number;
  /** In order of their claims. */
  readonly attempts: readonly TimelineAttempt[];
  readonly workers: readonly WorkerId[];
  /** The chain of tasks that decided when the run ended, first to last. Empty while it goes on. */
  readonly criticalPath: readonly TaskId[];
}

/** An attempt as it is being read. */
type Draft = Writable<Omit<TimelineAttempt, "critical">>;
type Writable<T> = { -readonly [K in keyof T]: T[K] };

/**
 * `events`: the events of the run, in order; events of other runs are skipped. `now`: absent where no scheduler works, so that the picture of
 * an interrupted run ends with the last thing that is known of it.
 */
export function timelineOf(run: Run, events: readonly Event[], now: Instant | undefined): Timeline {
  const { manifest, status } = run;
  const progress = new RunProgress(run);
  const drafts = readAttempts(run, events, progress);
  const path = status.state === "active" ? [] : progress.path().map(({ task }) => task);
  const critical = new Set(path);
  const workers = [...new Set(drafts.map(({ worker }) => worker))];
  return {
    run: manifest.id,
    name: manifest.name,
    state: status.state !== "active" ? status.outcome : now === undefined ? "interrupted" : "running",
    from: manifest.submittedAt,
    to: status.state === "active" ? instant(Math.max(now ?? lastOf(run, events), manifest.submittedAt)) : status.at,
    tasks: run.tasks.length,
    attempts: drafts.map((draft) => ({ ...draft, critical: critical.has(draft.task) })),
    workers: workers.sort((a, b) => a.localeCompare(b, "en", { numeric: true })),
    criticalPath: path,
  };
}

const lastOf = ({ no }: Run, events: readonly Event[]): Instant =>
  events.findLast(({ run }) => run === no)?.at ?? instant(0);

function readAttempts(run: Run, events: Iterable<Event>, progress: RunProgress): readonly Draft[] {
  const drafts: Draft[] = [];
  const open = new Map<TaskNo, Draft>();
  for (const event of events) {
    progress.add(event);
    if (event.run !== run.no || !isTaskEvent(event)) continue;
    if (event.kind === "claimed") {
      const { worker, attempt, at } = event;
      const { spec } = taskOf(run, event.task);
      const draft: Draft = { task: spec.id, ...titleOf(spec), attempt, worker, claimedAt: at, end: "running" };
      open.set(event.task, draft);
      drafts.push(draft);
      continue;
    }
    const draft = open.get(event.task);
    if (draft === undefined) continue;
    if (event.kind === "started") draft.startedAt = event.at;
    const end = endOf(event);
    if (end === undefined) continue;
    draft.end = end;
    draft.endedAt = event.at;
    if ("outcome" in event && event.outcome !== undefined) {
      draft.outcome = describeOutcome(event.outcome);
      setRight(draft, event.at, event.outcome);
    }
    open.delete(event.task);
  }
  return drafts;
}

/**
 * The ledger has the moments at which the scheduler heard of a beginning and an end, which are a little late: for a short task the beginning as late
 * as the end, and for an attempt that outlived its scheduler the end much later. The duration was measured, so it corrects them.
 */
function setRight(draft: Draft, heardAt: Instant, { durationMs }: Outcome): void {
  if (draft.startedAt === undefined) return;
  const begun = Math.min(draft.startedAt, heardAt - durationMs);
  draft.startedAt = instant(Math.max(draft.claimedAt, begun));
  draft.endedAt = instant(Math.min(heardAt, later(draft.startedAt, durationMs)));
}

/** When it began to take its worker's time. */
export const beginOf = ({ startedAt, claimedAt }: TimelineAttempt): Instant => startedAt ?? claimedAt;

export const timelineJson = (timeline: Timeline): TimelineReply => ({
  run: timeline.run,
  name: timeline.name,
  state: timeline.state,
  from: iso(timeline.from),
  to: iso(timeline.to),
  tasks: timeline.tasks,
  workers: timeline.workers,
  critical_path: timeline.criticalPath,
  attempts: timeline.attempts.map(
    ({ task, title, attempt, worker, claimedAt, startedAt, endedAt, end, outcome, critical }) => ({
      task,
      ...titleOf({ title }),
      attempt,
      worker,
      claimed_at: iso(claimedAt),
      started_at: startedAt === undefined ? null : iso(startedAt),
      ended_at: endedAt === undefined ? null : iso(endedAt),
      end,
      ...(outcome !== undefined && { outcome }),
      critical,
    }),
  ),
});

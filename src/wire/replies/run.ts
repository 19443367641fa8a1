/** Runs: how one begins, how it ends, and what ran when. */
import { RUN_OUTCOMES } from "../../domain/run.ts";
import { TASK_STATES } from "../../domain/task.ts";
import { boolean, type Infer, list, nullable, oneOf } from "../../std/schema.ts";
import { object } from "../../std/schema-maps.ts";
import { count, names, time, words } from "./words.ts";

export const SUBMITTED = object({
  run: words(),
  tasks: count(),
  repeated: boolean().describe("The key had been used: this is the run it began then."),
});
export type Submitted = Infer<typeof SUBMITTED>;

export const RUNS = list(
  object({
    run: words(),
    name: words(),
    state: oneOf(["active", "stalled", "finished"]),
    outcome: oneOf(RUN_OUTCOMES).optional(),
    tasks: count(),
  }),
);
export type RunSummary = Infer<typeof RUNS>[number];

export const RUN_OUTCOME = object({
  run: words(),
  outcome: oneOf(RUN_OUTCOMES).optional().describe("Absent when the wait was over first."),
});
export type RunOutcomeReply = Infer<typeof RUN_OUTCOME>;

/** The last line of a command that sees a run to its end. */
export const SUMMARY = object({
  run: words(),
  outcome: oneOf(RUN_OUTCOMES),
  tasks: object({
    total: count(),
    succeeded: count(),
    failed: count(),
    skipped: count(),
    cancelled: count(),
    parked: count(),
  }),
  attempts: count(),
  duration_ms: count(),
  blockers: list(
    object({
      task: words(),
      state: oneOf(TASK_STATES),
      reason: words(),
      on: words().optional().describe("The task at the far end of what this one waits for."),
    }),
  )
    .optional()
    .describe("For a run that cannot go on: what holds each remaining task back."),
});
export type SummaryReply = Infer<typeof SUMMARY>;

export const TIMELINE = object({
  run: words(),
  name: words(),
  state: words(),
  from: time(),
  to: time(),
  tasks: count(),
  workers: names(),
  critical_path: names(),
  attempts: list(
    object({
      task: words(),
      title: words().optional(),
      attempt: count(),
      worker: words(),
      claimed_at: time(),
      started_at: nullable(time()),
      ended_at: nullable(time()),
      end: oneOf(["succeeded", "failed", "retried", "lost", "released", "parked", "cancelled", "running"]),
      outcome: words().optional(),
      critical: boolean(),
    }),
  ),
});
export type TimelineReply = Infer<typeof TIMELINE>;

/** A run on one screen, and the list of all runs: what `rota status --json` prints. */

import { RUN_OUTCOMES } from "../../domain/run.ts";
import { SESSION_STATES } from "../../domain/sessions/session.ts";
import { FAIL_REASONS } from "../../domain/task.ts";
import { WAIT_REASONS } from "../../domain/waiting/explanation.ts";
import { type Infer, integer, list, nullable, number, oneOf } from "../../std/schema.ts";
import { object } from "../../std/schema-maps.ts";
import { OUTCOME } from "./attempt.ts";
import { PAUSED } from "./control.ts";
import { WAIT } from "./wait.ts";
import { WISH } from "./why.ts";
import { count, names, time, words } from "./words.ts";

const state = () =>
  oneOf(["running", "cancelling", "interrupted", ...RUN_OUTCOMES]).describe(
    "`interrupted`: it has not ended, and no scheduler works on it.",
  );

export const STATUS = object({
  run: words(),
  name: words(),
  file: words(),
  only: names().optional().describe("The tasks that the run was limited to; it has these and what they need."),
  state: state(),
  at: time(),
  submitted_at: time(),
  ended_at: nullable(time()),
  owner: nullable(object({ pid: count(), host: words(), command: words(), workers: count() })).describe(
    "The scheduler that works on it.",
  ),
  tasks: object({
    total: count(),
    blocked: count(),
    ready: count(),
    claimed: count(),
    running: count(),
    verifying: count(),
    succeeded: count(),
    failed: count(),
    cancelled: count(),
    skipped: count(),
    parked: count(),
  }),
  running: list(
    object({
      task: words(),
      title: words().optional(),
      attempt: count(),
      worker: words(),
      state: oneOf(["claimed", "running", "verifying"]),
      since: time(),
      age_ms: integer(),
      deadline: time(),
      stopping: oneOf(["timeout", "cancelled", "shutdown"]).optional(),
    }),
  ),
  waiting: list(
    object({
      reason: oneOf(WAIT_REASONS),
      count: count(),
      tasks: list(
        object({
          task: words(),
          title: words().optional(),
          since: time().optional(),
          age_ms: integer().optional(),
          wait: WAIT,
        }),
      ),
    }),
  ).describe("What waits, by what it waits for."),
  failed: list(
    object({
      task: words(),
      title: words().optional(),
      reason: oneOf(FAIL_REASONS),
      log: words().optional(),
      skipped: count().describe("How many tasks were skipped because of it."),
      at: time(),
      attempts: count(),
      outcome: OUTCOME,
    }),
  ),
  taken: list(object({ task: words(), title: words().optional(), from: object({ run: words(), task: words() }) }))
    .optional()
    .describe("Tasks that took the result of another with the same idempotency key."),
  queue: object({ critical: count(), high: count(), normal: count(), low: count() }).describe(
    "Ready tasks by priority.",
  ),
  resources: list(object({ name: words(), capacity: number(), used: number() })),
  paused: list(PAUSED).describe("What is on hold and holds something of this run back."),
  asked: list(WISH).optional().describe("What was asked for and waits for a scheduler."),
  sessions: list(object({ session: words(), pool: words(), state: oneOf(SESSION_STATES) })),
});
export type StatusReply = Infer<typeof STATUS>;

export const ALL_RUNS = object({
  runs: list(
    object({
      run: words(),
      name: words(),
      state: state(),
      tasks: count(),
      submitted_at: time(),
      ended_at: nullable(time()),
      file: words(),
      only: names().optional(),
      retry_of: words().optional(),
    }),
  ).describe("Oldest first."),
});
export type AllRunsReply = Infer<typeof ALL_RUNS>;

/** Why a task is as it is: what `rota why --json` prints. */

import { DISPATCH_MODES } from "../../domain/sessions/pool.ts";
import { SESSION_STATES } from "../../domain/sessions/session.ts";
import { PRIORITIES } from "../../domain/spec.ts";
import { FAIL_REASONS, TASK_STATES } from "../../domain/task.ts";
import { type DispatchGate, ESTIMATE_SOURCES, WAIT_REASONS } from "../../domain/waiting/explanation.ts";
import { boolean, type Infer, integer, list, nullable, number, oneOf } from "../../std/schema.ts";
import { type Fields, object } from "../../std/schema-maps.ts";
import { tagged } from "../../std/schema-tagged.ts";
import { OUTCOME } from "./attempt.ts";
import { GLIMPSE, WAIT } from "./wait.ts";
import { asked, count, names, time, words } from "./words.ts";

const open = boolean();
const scope = oneOf(["plan", "machine"]);
const DISPATCH_GATES = {
  needs: { open, met: count(), total: count() },
  approval: { open, prompt: words() },
  pause: { open },
  "back-off": { open, until: time() },
  capabilities: { open, missing: names(), total: count() },
  key: { open, key: words() },
  files: { open, reads: count(), writes: count() },
  resource: { open, name: words(), scope, asked: number(), free: number(), capacity: number() },
  rate: { open, name: words(), asked: number(), level: number(), capacity: number(), per: number() },
  service: { open, provider: words(), state: oneOf(["closed", "open", "half-open"]), failures: count() },
  pressure: { open, mode: words(), queued: count(), depth: count() },
  reservation: { open, for: words() },
  workers: { open, idle: count(), total: count(), pool: words().optional() },
} as const satisfies Readonly<Record<DispatchGate["gate"], Fields>>;

export const DISPATCH_GATE = tagged("gate", DISPATCH_GATES);
export type DispatchGateReply = Infer<typeof DISPATCH_GATE>;

export const WISH = object({
  kind: oneOf(["cancel", "approve", "requeue"]),
  task: words().optional().describe("The whole run when absent."),
  ...asked,
  at: time(),
});
export type WishReply = Infer<typeof WISH>;
export const ASKED = object(asked);
export type AskedReply = Infer<typeof ASKED>;

export const WHY = object({
  run: words(),
  task: words(),
  title: words().optional(),
  sentence: words().optional().describe("Why it is where it is, in a sentence for people."),
  at: time(),
  state: oneOf(TASK_STATES),
  since: time().optional().describe("Since when it is in that state."),
  age_ms: integer().optional(),
  reason: nullable(oneOf(WAIT_REASONS)).describe("What it waits for; null when it does not wait."),
  wait: WAIT.optional(),
  roots: list(GLIMPSE).optional().describe("Those of the tasks it waits for, near or far, that wait for no other."),
  roots_total: count().optional(),
  unblock: object({
    at: time(),
    in_ms: integer(),
    from: oneOf(["back-off", "estimate", "time-out", "path", "rate", "breaker", "offer"]),
  })
    .optional()
    .describe("When the wait is likely to end, and how that is known."),
  gates: list(DISPATCH_GATE).describe("Everything that must be so before it may start, whether it is or not."),
  pool: object({
    name: words(),
    mode: oneOf(DISPATCH_MODES).optional(),
    requires: names(),
    workspace: words().optional(),
    channel: words().optional(),
    session: words().optional().describe("The only session that may take it."),
    sessions: list(
      object({
        session: words(),
        state: oneOf(SESSION_STATES),
        suits: boolean().describe("Whether the session may take the task."),
        claiming: boolean().optional().describe("Whether a claim of it waits to be answered."),
      }),
    ),
  })
    .optional()
    .describe("For what waits for a session of a pool: what it asks of one, and which there are."),
  priority: oneOf(PRIORITIES),
  rank: number().describe("The length of the longest path from here to the end of the plan."),
  rank_unit: oneOf(["ms", "hops"]),
  estimate_ms: number().optional(),
  estimate_source: oneOf(ESTIMATE_SOURCES).optional(),
  position: object({ place: count(), of: count() })
    .optional()
    .describe("Its place among the ready tasks of its priority in this run, from 1."),
  attempt: count(),
  failures: count(),
  attempts_max: count(),
  worker: words().optional(),
  lease_deadline: time().optional(),
  timeout_at: time().optional(),
  stopping: oneOf(["timeout", "cancelled", "shutdown"]).optional(),
  outcome: OUTCOME.optional(),
  fail_reason: oneOf(FAIL_REASONS).optional(),
  cancelled: ASKED.optional(),
  because: list(GLIMPSE).optional().describe("For a skipped task: the chain back to the task that did not succeed."),
  asked: list(WISH).optional().describe("What was asked for and has not been done yet."),
});
export type WhyReply = Infer<typeof WHY>;

/** Everything that happens, one shape for each kind: what `rota events --json` prints, and what the API and its streams send. */
import { type EventKind, OFFER_ENDS } from "../../domain/event.ts";
import { TIMEOUT_LIMITS } from "../../domain/outcome.ts";
import { RUN_ENDS, RUN_STALLS } from "../../domain/run.ts";
import { SESSION_STATES } from "../../domain/sessions/session.ts";
import { PRIORITIES } from "../../domain/spec.ts";
import { FAIL_REASONS, PARK_REASONS } from "../../domain/task.ts";
import { WAIT_REASONS } from "../../domain/waiting/explanation.ts";
import { boolean, type Infer, integer, list, number, oneOf } from "../../std/schema.ts";
import { type Fields, object } from "../../std/schema-maps.ts";
import { tagged } from "../../std/schema-tagged.ts";
import { OUTCOME } from "./attempt.ts";
import { EVIDENCE } from "./wait.ts";
import { asked, count, names, time, words } from "./words.ts";

/** The caller, where the event follows from a call. */
const called = { by: words().optional() } as const;
const anywhere = { seq: integer({ min: 1 }), at: time() } as const;
const ofRun = { ...anywhere, run: words() } as const;
const ofTask = { ...ofRun, task: words(), version: count(), attempt: count() } as const;
/** For events of one claim, which the fence names. */
const ofClaim = { ...ofTask, fence: count() } as const;
const scope = {
  run: words().optional(),
  of: oneOf(["scheduler", "pool", "run", "task"]),
  pool: words().optional(),
  task: words().optional(),
} as const;

/** The fields of an event, by its kind: the compiler keeps the list complete. */
export const EVENT_KINDS = {
  run_submitted: { ...ofRun, ...called, name: words(), tasks: count() },
  run_reopened: { ...ofRun, epoch: count() },
  run_cancelling: { ...ofRun, ...asked },
  run_stalled: { ...ofRun, remaining: count(), outcome: oneOf(RUN_STALLS) },
  run_finished: { ...ofRun, outcome: oneOf(RUN_ENDS) },

  claimed: {
    ...ofClaim,
    ...called,
    worker: words(),
    deadline: time(),
    evidence: object({ lane: oneOf(PRIORITIES), rank: number(), waited_ms: integer() }),
  },
  started: { ...ofClaim, ...called, pid: count().optional() },
  lease_renewed: { ...ofClaim, deadline: time() },
  stopping: {
    ...ofClaim,
    reason: oneOf(["timeout", "cancelled", "shutdown"]),
    limit: oneOf(TIMEOUT_LIMITS).optional(),
    by: words().optional(),
    why: words().optional(),
  },
  verifying: { ...ofClaim, ...called, worker: words(), deadline: time(), outcome: OUTCOME },
  succeeded: { ...ofClaim, ...called, outcome: OUTCOME },
  failed: { ...ofClaim, ...called, outcome: OUTCOME, reason: oneOf(FAIL_REASONS) },
  retried: { ...ofClaim, ...called, outcome: OUTCOME, not_before: time(), costs: boolean() },
  expired: { ...ofClaim, worker: words(), not_before: time(), why: words().optional() },
  released: { ...ofClaim, ...called, why: words() },
  parked: {
    ...ofTask,
    ...called,
    fence: count().optional(),
    reason: oneOf(PARK_REASONS),
    message: words().optional(),
    outcome: OUTCOME.optional(),
  },
  skipped: { ...ofTask, because: words() },
  cancelled: { ...ofTask, fence: count().optional(), ...asked, outcome: OUTCOME.optional() },
  requeued: { ...ofTask, ...asked },
  approved: { ...ofTask, ...asked },
  silent: { ...ofClaim, for_ms: integer() },
  aged_boost: { ...ofTask, from: oneOf(PRIORITIES), to: oneOf(PRIORITIES), waited_ms: integer() },
  priority_inherited: { ...ofClaim, to: oneOf(PRIORITIES), by_task: words() },
  priority_inversion: { ...ofTask, holder: words(), for_ms: integer() },
  waiting: { ...ofTask, reason: oneOf(WAIT_REASONS), evidence: EVIDENCE },
  set_back: { ...ofTask, by_ms: integer() },
  late_report_refused: { ...ofClaim, ...called, reported: words() },
  offered: { ...ofTask, session: words(), until: time() },
  offer_ended: { ...ofTask, session: words(), why: oneOf(OFFER_ENDS) },
  starving: { ...ofTask, count: count() },
  spawn_asked: { ...ofTask, pool: words() },
  starved: { ...ofTask, count: count(), waited_ms: integer() },
  edited: { ...ofTask, changed: names(), ...asked },
  noted: { ...ofClaim, ...called, note: words() },

  session_joined: {
    ...anywhere,
    ...called,
    session: words(),
    agent: words(),
    pool: words(),
    workspace: words().optional(),
    channel: words().optional(),
    capabilities: names(),
    slots: count(),
  },
  session_changed: { ...anywhere, ...called, session: words(), state: oneOf(SESSION_STATES), losses: count() },
  session_left: { ...anywhere, ...called, session: words(), why: words() },
  worker_started: { ...anywhere, worker: words(), node: words() },
  paused: { ...anywhere, ...scope, ...asked },
  resumed: { ...anywhere, ...scope, ...asked },
  drained: { ...anywhere, ...called, ...scope, remaining: count() },
} as const satisfies Readonly<Record<EventKind, Fields>>;

export const EVENT = tagged("kind", EVENT_KINDS);
export type EventReply = Infer<typeof EVENT>;
export const EVENT_LIST = list(EVENT);

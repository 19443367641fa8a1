/** The shapes of what a daemon answers, for the OpenAPI document and for whoever wants to check an answer. The types are in `service.ts`. */
import { RUN_OUTCOMES } from "../domain/run.ts";
import { SESSION_STATES } from "../domain/session.ts";
import { PRIORITIES } from "../domain/spec.ts";
import { boolean, integer, isMap, list, mismatch, number, oneOf, Schema, text, union } from "../std/schema.ts";
import { object, record } from "../std/schema-maps.ts";
import { SCOPES } from "./route.ts";
import type {
  CycleResult,
  CycleStats,
  DaemonInfo,
  Done,
  DrainReply,
  EventReply,
  Grant,
  IssuedToken,
  LeaseReply,
  PauseReply,
  RunSummary,
  SessionReply,
  Settled,
  Submitted,
  TokenReply,
  Wake,
  WorkerReply,
} from "./service.ts";

/** Any text. */
const words = () => text({ expects: "text", parse: (raw) => raw });
const time = () => words().describe("ISO 8601.");
const count = () => integer({ min: 0 });
const names = () => list(words());
const texts = () => record({ accepts: () => true, expects: "any name", pattern: "" }, words());

/** An event has a position and whatever else its kind has; the page on events says what. */
const EVENT = new Schema<EventReply>(
  {
    read: (value, problems) =>
      isMap(value) && Number.isSafeInteger(value["seq"])
        ? (value as EventReply)
        : mismatch(value, "an event", problems),
    json: {
      type: "object",
      properties: { seq: { type: "integer", minimum: 1 }, at: { type: "string" }, kind: { type: "string" } },
      required: ["seq"],
      additionalProperties: true,
    },
    expects: "an event",
    types: ["map"],
  },
  "required",
);
export const EVENT_LIST: Schema<readonly EventReply[]> = list(EVENT);

export const SUBMITTED: Schema<Submitted> = object({
  run: words(),
  tasks: count(),
  repeated: boolean().describe("The key had been used: this is the run it began then."),
});

export const RUNS: Schema<readonly RunSummary[]> = list(
  object({
    run: words(),
    name: words(),
    state: oneOf(["active", "stalled", "finished"]),
    outcome: oneOf(RUN_OUTCOMES).optional(),
    tasks: count(),
  }),
);

export const OUTCOME = object({
  run: words(),
  outcome: oneOf(RUN_OUTCOMES).optional().describe("Absent when the wait was over first."),
});

export const GRANT: Schema<Grant> = object({
  run: words(),
  task: words(),
  attempt: count(),
  fence: count(),
  token: words().describe("Proves that the lease is one's own. Keep it."),
  deadline: time(),
  ttl_ms: count(),
  title: words().optional(),
  priority: oneOf(PRIORITIES),
  command: union(words(), names()).optional(),
  prompt: words().optional(),
  directory: words(),
  env: texts(),
  reads: names(),
  writes: names(),
  labels: texts(),
});

export const LEASE: Schema<LeaseReply> = object({
  run: words(),
  task: words(),
  fence: count(),
  deadline: time(),
  stop: object({
    kind: words(),
    why: words().optional(),
    by: time().optional().describe("When it is ended, where that is not the deadline of the lease."),
  })
    .optional()
    .describe("It should end: wind down and report."),
});

export const SETTLED: Schema<Settled> = object({
  run: words(),
  task: words(),
  fence: count(),
  state: words().describe("The state of the task afterwards: `ready` when it will be tried again."),
  repeated: boolean().describe("The same report had been taken before; nothing changed."),
});

export const SESSION: Schema<SessionReply> = object({
  session: words(),
  agent: words(),
  pool: words(),
  mode: oneOf(["push", "pull", "hybrid"]),
  workspace: words().optional(),
  channel: words().optional(),
  capabilities: names(),
  slots: count(),
  ttl_ms: count(),
  state: oneOf(SESSION_STATES),
  seen_at: time(),
  holds: list(
    object({ run: words(), task: words(), fence: count(), deadline: time(), stop: words().optional() }),
  ).describe("Its leases."),
});

export const SESSION_LIST: Schema<readonly SessionReply[]> = list(SESSION);

export const WAKE: Schema<Wake> = object({
  run: words(),
  task: words(),
  title: words().optional(),
  until: time().describe("Until then the task is kept for this session. ISO 8601."),
  reason: oneOf(["offered", "fan-out", "assigned"]),
});

export const WORKERS: Schema<readonly WorkerReply[]> = list(
  object({
    worker: words(),
    kind: oneOf(["local", "session"]),
    pool: words(),
    state: words(),
    task: words().optional(),
    run: words().optional(),
    since: time().optional(),
  }),
);

export const PAUSED: Schema<PauseReply> = object({
  of: oneOf(["scheduler", "pool", "run", "task"]),
  pool: words().optional(),
  run: words().optional(),
  task: words().optional(),
  by: words(),
  why: words().optional(),
  at: time(),
});

export const RESUMED = object({ resumed: boolean().describe("Whether it was on hold at all.") });

export const DRAINED: Schema<DrainReply> = object({
  drained: boolean().describe("Nothing is out any more."),
  remaining: list(object({ run: words(), task: words(), worker: words() })),
});

export const DONE: Schema<Done> = object({
  run: words(),
  task: words().optional(),
  answer: oneOf(["done", "underway"]).describe("`underway`: what runs is being stopped."),
});

export const INFO: Schema<DaemonInfo> = object({
  version: words(),
  pid: count(),
  state: words(),
  socket: words(),
  since: time(),
  workers: count(),
  paused: list(PAUSED),
  runs: count(),
  queued: count(),
  out: count(),
  parked: count(),
  sessions: count(),
  last_seq: count(),
});

export const CYCLE: Schema<CycleResult> = object({
  at: time(),
  paused: boolean(),
  pending: count(),
  active: count(),
  sessions: count(),
  recovered: names(),
  woken: list(object({ task: words(), session: words() })),
  wakeFailures: count(),
  noMatch: names(),
  capacity: count(),
  cooling: count(),
  starved: names(),
  spawned: names(),
  parked: names(),
  errors: names(),
});

export const STATS: Schema<CycleStats> = object({
  cycles: count(),
  rebuilds: count(),
  recovered: count(),
  wakes: count(),
  wakeFailures: count(),
  noMatch: count(),
  starved: count(),
  spawned: count(),
  parked: count(),
  lastCycleAt: time().optional(),
  lastError: words().optional(),
});

const token = {
  id: words(),
  name: words(),
  scope: oneOf(SCOPES),
  created_at: time(),
  expires_at: time().optional(),
  revoked_at: time().optional(),
};
export const TOKENS: Schema<readonly TokenReply[]> = list(object(token));
export const ISSUED: Schema<IssuedToken> = object({
  ...token,
  token: words().describe("The secret. It is told only now."),
});

/** What every refusal looks like. */
export const REFUSAL = object({
  error: object({
    code: words().describe("Stable: programs may rely on it."),
    message: words(),
    hint: words().describe("What to do about it."),
    diagnostics: list(
      object({
        code: words(),
        severity: oneOf(["error", "warning"]),
        message: words(),
        file: words(),
        line: number(),
        column: number(),
        hint: words(),
      }),
    )
      .optional()
      .describe("For a plan that is not valid: everything that is wrong with it."),
  }),
});

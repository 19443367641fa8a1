/** Sessions, pools and wakes. */
import { DISPATCH_MODES } from "../../domain/sessions/pool.ts";
import { SESSION_STATES } from "../../domain/sessions/session.ts";
import { boolean, type Infer, list, oneOf } from "../../std/schema.ts";
import { object } from "../../std/schema-maps.ts";
import { count, names, time, words } from "./words.ts";

export const holds = () =>
  list(object({ run: words(), task: words(), fence: count(), deadline: time(), stop: words().optional() })).describe(
    "Its leases.",
  );

export const SESSION = object({
  session: words(),
  agent: words(),
  pool: words(),
  mode: oneOf(DISPATCH_MODES),
  workspace: words().optional(),
  channel: words().optional(),
  capabilities: names(),
  slots: count(),
  ttl_ms: count(),
  state: oneOf(SESSION_STATES),
  claiming: boolean()
    .optional()
    .describe("Whether a claim of it waits to be answered. Only where all sessions are listed."),
  seen_at: time(),
  holds: holds(),
});
export type SessionReply = Infer<typeof SESSION>;
export const SESSION_LIST = list(SESSION);

/** A wake: a task waits, and is kept for this session until then. It says nothing about ownership. */
export const WAKE = object({
  run: words(),
  task: words(),
  title: words().optional(),
  until: time().describe("Until then the task is kept for this session. ISO 8601."),
  reason: oneOf(["offered", "fan-out", "assigned"]),
  why: words().optional().describe("The same in words: the setting `wakeReason`."),
});
export type Wake = Infer<typeof WAKE>;

export const worker = {
  worker: words(),
  kind: oneOf(["local", "session"]),
  pool: words(),
  state: words(),
  task: words().optional(),
  run: words().optional(),
  since: time().optional(),
  started_at: time()
    .optional()
    .describe("Of a worker of this machine: when this scheduler gave it its first task. ISO 8601."),
} as const;
export const WORKERS = list(object(worker));
export type WorkerReply = Infer<typeof WORKERS>[number];

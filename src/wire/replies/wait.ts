/** What a task waits for, with the numbers. */

import { PARK_REASONS, TASK_STATES } from "../../domain/task.ts";
import type { WaitReason } from "../../domain/waiting/explanation.ts";
import { boolean, type Infer, list, number, oneOf, type Schema, union } from "../../std/schema.ts";
import { type Fields, object, type Read } from "../../std/schema-maps.ts";
import { tagged } from "../../std/schema-tagged.ts";
import { OUTCOME } from "./attempt.ts";
import { asked, count, names, time, words } from "./words.ts";

const glimpse = {
  task: words(),
  state: oneOf(TASK_STATES),
  since: time().optional(),
  worker: words().optional(),
} as const;
/** Another task, as far as it matters here. */
export const GLIMPSE = object(glimpse);
export type GlimpseReply = Infer<typeof GLIMPSE>;

const SCOPES = ["plan", "machine"] as const;
const excess = { name: words(), scope: oneOf(SCOPES), asked: number(), capacity: number() } as const;
const shortage = {
  ...excess,
  free: number(),
  holders: list(object({ ...glimpse, amount: number() })).describe("The first few of those that have some of it."),
  holders_total: count(),
} as const;
const rate = {
  name: words(),
  asked: number(),
  level: number(),
  capacity: number(),
  per_ms: number().describe("How long it takes from empty to full."),
  at: time().describe("When there will be enough."),
} as const;

const EVIDENCE_OF = {
  needs: { blockers: list(GLIMPSE).describe("The first few of them."), blockers_total: count() },
  gate: { prompt: words() },
  paused: asked,
  "backing-off": { until: time(), after: OUTCOME.optional() },
  "no-match": {
    missing: names().describe("Capabilities that no worker has."),
    too_much: list(object(excess)).describe("More than there is, even when no other task has any of it."),
    pool: words().optional(),
    sessions: count().optional(),
  },
  offered: { session: words(), until: time() },
  "same-key": { key: words(), run: words().describe("The run of the holder."), holder: GLIMPSE },
  hazard: {
    kind: oneOf(["write-write", "read-write", "write-read"]).describe("First what it wants to do, then the holder."),
    path: words(),
    holder: GLIMPSE,
  },
  backpressure: {
    mode: words(),
    queued: count(),
    depth: count(),
    allowed: count(),
    out: count(),
    deferred: boolean(),
  },
  shortage: { why: words(), allowed: count(), out: count(), until: time().optional() },
  "breaker-open": { provider: words(), failures: count(), until: time().optional() },
  "rate-limited": { rates: list(object(rate)), until: time() },
  resources: { short: list(object(shortage)), reserved_for: GLIMPSE.optional() },
  capacity: { workers: count(), idle: count(), pool: words().optional() },
  parked: { why: oneOf(PARK_REASONS), since: time() },
} as const satisfies Readonly<Record<WaitReason, Fields>>;

export const WAIT = tagged("reason", EVIDENCE_OF);
export type WaitReply = Infer<typeof WAIT>;

type Evidence = { [Reason in WaitReason]: Read<(typeof EVIDENCE_OF)[Reason]> }[WaitReason];
/** The same without the reason, where another field has it. */
export const EVIDENCE = union(
  ...Object.values(EVIDENCE_OF).map((fields: Fields) => object(fields)),
) as Schema<unknown> as Schema<Evidence>;

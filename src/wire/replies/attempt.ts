/** How an attempt ended. */
import { type FAILURE_KINDS, TIMEOUT_LIMITS } from "../../domain/outcome.ts";
import { type Infer, integer, nullable, oneOf } from "../../std/schema.ts";
import { type Fields, object } from "../../std/schema-maps.ts";
import { tagged } from "../../std/schema-tagged.ts";
import { anything, count, words } from "./words.ts";

const ended = {
  message: words().describe("What happened, in a phrase."),
  duration_ms: count(),
  cpu_ms: count().optional(),
  peak_bytes: count().optional(),
} as const;

const KINDS = {
  success: {
    ...ended,
    summary: words().optional().describe("What its worker says came of it."),
    result: anything().optional().describe("What it gives back for the tasks that need it."),
    taken_from: object({ run: words(), task: words() })
      .describe("The task with the same idempotency key that did the work.")
      .optional(),
  },
  exit: {
    ...ended,
    code: integer(),
    maybe_signal: words()
      .optional()
      .describe("Codes above 128 may also stand for a signal that ended the process: for this one."),
  },
  signal: { ...ended, signal: words(), limit: oneOf(["memory"]).optional() },
  timeout: { ...ended, limit: oneOf(TIMEOUT_LIMITS) },
  lost: ended,
  spawn: ended,
  "rate-limit": { ...ended, reset_ms: count().optional() },
  quota: ended,
  auth: ended,
  refused: ended,
  shutdown: ended,
  cancelled: ended,
  verify: { ...ended, code: nullable(integer()) },
  budget: ended,
  shortage: ended,
} as const satisfies Readonly<Record<"success" | (typeof FAILURE_KINDS)[number], Fields>>;

export const OUTCOME = tagged("kind", KINDS);
export type OutcomeReply = Infer<typeof OUTCOME>;

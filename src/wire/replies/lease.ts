/** What the holder of a lease receives. */
import { PRIORITIES } from "../../domain/spec.ts";
import { boolean, type Infer, oneOf, union } from "../../std/schema.ts";
import { object } from "../../std/schema-maps.ts";
import { count, names, texts, time, words } from "./words.ts";

/** How the attempt before ended, so that the next one does not begin as if there had been none. */
export const PREVIOUS = object({
  attempt: count(),
  worker: words().describe("The session or the worker that made it."),
  ended: words().describe("`retried` where it failed and is tried again, `lost`, `released` or `parked`."),
  why: words().describe("How it ended, in words."),
  note: words().optional().describe("The last that its worker said of how it goes."),
  at: time(),
});
export type PreviousAttempt = Infer<typeof PREVIOUS>;

/** What a session receives with a claim: the task, what to do, and the proof that it may report on it. */
export const GRANT = object({
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
  prompt_file: words().optional().describe("A file with the prompt, where it is longer than 10 KB."),
  directory: words(),
  env: texts(),
  reads: names(),
  writes: names(),
  labels: texts(),
  previous: PREVIOUS.optional().describe("The attempt before this one, if there was one."),
});
export type Grant = Infer<typeof GRANT>;

/** The lease after a report that did not end it. */
export const LEASE = object({
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
export type LeaseReply = Infer<typeof LEASE>;

/** The result of a report that ended a lease. */
export const SETTLED = object({
  run: words(),
  task: words(),
  fence: count(),
  state: words().describe("The state of the task afterwards: `ready` when it will be tried again."),
  repeated: boolean().describe("The same report had been taken before; nothing changed."),
});
export type Settled = Infer<typeof SETTLED>;

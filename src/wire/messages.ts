/** What is asked of a daemon and what it answers: one definition for the server, the client, the OpenAPI page and the MCP tools. */
import { FAILURE_KINDS } from "../domain/outcome.ts";
import { REPORTED_STATES, SESSION_TTL_MAX } from "../domain/sessions/session.ts";
import { PRIORITIES } from "../domain/spec.ts";
import { boolean, type Infer, integer, list, oneOf, string } from "../std/schema.ts";
import { object } from "../std/schema-maps.ts";

const name = () => string({ min: 1, max: 128 });
const why = () => string({ max: 1_000 }).optional().describe("The reason, kept with the record of it.");
const runName = () => name().describe("A run: its id, the start of it, or `last`.");
const taskName = () => name().describe("The id of a task.");
/** How long a call may wait at the longest, in milliseconds. */
export const WAIT_MAX = 600_000;
const wait = () => integer({ min: 0, max: WAIT_MAX }).default(0).describe("How long to wait for it, in milliseconds.");

export const SUBMIT = object({
  text: string({ min: 1, max: 64 * 1024 * 1024 }).describe("The plan itself, YAML or JSON."),
  file: string({ min: 1, max: 4_096 }).describe("Where it came from: shown in messages, and how a run is found again."),
  directory: string({ min: 1, max: 4_096 }).describe("Absolute: commands and paths of the plan are relative to it."),
  key: name().optional().describe("The same key submits once: the run it began is answered again."),
});
export type SubmitRequest = Infer<typeof SUBMIT>;

export const JOIN = object({
  session: name()
    .optional()
    .describe(
      "The id to be known by; made up when absent. Joining again under one's own id is harmless; one of another token's session is refused.",
    ),
  agent: name().default("agent").describe("What kind of agent it is."),
  pool: name().optional().describe("The pool whose tasks it takes; named like the agent when absent."),
  workspace: string({ min: 1, max: 4_096 }).optional().describe("Where it works."),
  channel: name().optional().describe("The channel it listens on."),
  capabilities: list(name(), { max: 1_000 }).default([]).describe("What it can do."),
  slots: integer({ min: 1, max: 1_000 }).default(1).describe("How many tasks it does at once."),
  ttlMs: integer({ min: 1_000, max: SESSION_TTL_MAX })
    .optional()
    .describe("How long it keeps a task without a sign of life."),
});
export type JoinRequest = Infer<typeof JOIN>;

export const BEAT = object({
  state: oneOf(REPORTED_STATES).optional().describe("How the session is: idle, prompting (waits for a person), busy."),
});
export type BeatRequest = Infer<typeof BEAT>;

export const CLAIM = object({
  session: name().describe("Who claims."),
  run: runName().optional(),
  task: taskName().optional().describe("This task and no other; the next one when absent."),
  priority: oneOf(PRIORITIES).optional().describe("Nothing less urgent than this."),
  key: name().optional().describe("The same key gives the same grant: a lost reply is not a lost task."),
  waitMs: wait(),
});
export type ClaimRequest = Infer<typeof CLAIM>;

/** What proves that the caller holds the lease. */
const lease = {
  run: name(),
  task: name(),
  fence: integer({ min: 1 }),
  token: string({ min: 1, max: 256 }).describe("The token of the grant."),
};
export const START = object({ ...lease });
export const HEARTBEAT = object({ ...lease });
export const PROGRESS = object({ ...lease, note: string({ min: 1, max: 1_000 }).describe("What is being done.") });
export const COMPLETE = object({
  ...lease,
  summary: string({ max: 64 * 1024 })
    .optional()
    .describe("What came of it."),
});
export const FAIL = object({
  ...lease,
  kind: oneOf(FAILURE_KINDS).default("exit").describe("What kind of failure it was."),
  code: integer({ min: 0, max: 255 }).default(1).describe("The exit code, where there was one."),
  message: string({ max: 4_096 }).optional(),
  resetMs: integer({ min: 0 }).optional().describe("For `rate-limit`: when the limit is over, from now."),
});
export const RELEASE = object({ ...lease, why: why() });
export type LeaseRequest = Infer<typeof START>;
export type ProgressRequest = Infer<typeof PROGRESS>;
export type CompleteRequest = Infer<typeof COMPLETE>;
export type FailRequest = Infer<typeof FAIL>;
export type ReleaseRequest = Infer<typeof RELEASE>;

/** The scope of a pause or a drain: one of these, or everything when none is named. A task needs its run. */
const scope = { pool: name().optional(), run: runName().optional(), task: taskName().optional() };
export const PAUSE = object({ ...scope, why: why() });
export type PauseRequest = Infer<typeof PAUSE>;
export const DRAIN = object({
  ...scope,
  why: why(),
  waitMs: integer({ min: 0, max: WAIT_MAX }).default(60_000).describe("How long to wait until nothing is out."),
});
export type DrainRequest = Infer<typeof DRAIN>;

export const CANCEL = object({ run: runName().optional(), task: taskName().optional(), why: why() });
export type CancelRequest = Infer<typeof CANCEL>;
export const RETRY = object({
  run: runName().optional(),
  tasks: list(name())
    .default([])
    .describe("Only these and what needs them; everything that did not succeed when empty."),
});
export type RetryRequest = Infer<typeof RETRY>;
export const OF_TASK = object({ run: runName().optional(), task: taskName().optional(), why: why() });
export type TaskRequest = Infer<typeof OF_TASK>;
export const EDIT = object({
  run: runName().optional(),
  task: taskName(),
  /** Checked by the plan's rules for a task. */
  changes: string({ min: 2, max: 1024 * 1024 }).describe(
    "The fields to change, as a JSON object, as they would stand in the plan.",
  ),
  why: why(),
});
export type EditRequest = Infer<typeof EDIT>;
export const AWAIT = object({ waitMs: wait() });
export type AwaitRequest = Infer<typeof AWAIT>;
export const LIST = object({
  limit: integer({ min: 1, max: 10_000 }).default(100).describe("No more runs than this."),
  before: runName().optional().describe("Only runs that were submitted before this one: the last of the page before."),
});
export type ListRequest = Infer<typeof LIST>;
export const EVENTS = object({
  run: runName().optional(),
  task: taskName().optional(),
  after: integer({ min: 0 }).default(0).describe("Only events after this position."),
  limit: integer({ min: 1, max: 10_000 }).default(1_000),
  follow: boolean().default(false),
});
export type EventsRequest = Infer<typeof EVENTS>;

export const TOKEN = object({
  name: name().describe(
    "Whose it is: what it does is attributed to this name and its id. Not `owner`, `admin`, `local` or `scheduler`.",
  ),
  scope: oneOf(["read", "work", "admin"]).describe(
    "`read`: look. `work`: join, claim and report as well. `admin`: everything.",
  ),
  expiresMs: integer({ min: 1, max: 366 * 86_400_000 })
    .optional()
    .describe("After how many milliseconds it is refused; never when absent."),
});
export type TokenRequest = Infer<typeof TOKEN>;

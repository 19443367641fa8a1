/** What each command prints with `--json`, by the name of the command. `events` prints one value on each line, all others print one value. */
import {
  anything,
  boolean,
  type Infer,
  integer,
  list,
  nullable,
  number,
  oneOf,
  type Schema,
} from "../../std/schema.ts";
import { object, record } from "../../std/schema-maps.ts";
import { DONE, DRAINED, PAUSED } from "./control.ts";
import { ISSUED, TOKENS } from "./daemon.ts";
import { EVENT } from "./event.ts";
import { GRANT, LEASE, SETTLED } from "./lease.ts";
import { DIAGNOSTICS, DRY_RUN, HEALTH, SIMULATION } from "./plan.ts";
import { SUBMITTED, SUMMARY, TIMELINE } from "./run.ts";
import { holds, SESSION, WAKE, worker } from "./session.ts";
import { ALL_RUNS, STATUS } from "./status.ts";
import { WHY } from "./why.ts";
import { count, names, time, words } from "./words.ts";

const ASKED_FOR = object({
  request: oneOf(["cancel", "approve", "requeue"]),
  run: words(),
  task: nullable(words()).describe("Null for the whole run."),
  answer: oneOf(["done", "underway", "waiting", "kept"]).describe(
    "`underway`: what runs is being stopped. `waiting`: the scheduler has not answered yet. `kept`: no scheduler is at work, and the next one does it.",
  ),
  scheduler: boolean().describe("Whether a scheduler is at work."),
});

const EVERY_WORKER = object({
  workers: list(
    object({
      ...worker,
      agent: words().optional(),
      mode: SESSION.fields.mode.optional(),
      workspace: words().optional(),
      channel: words().optional(),
      capabilities: names().optional(),
      slots: count().optional(),
      seen_at: time().optional(),
      holds: holds().optional(),
    }),
  ).describe("Those of this machine, and sessions with what they say of themselves."),
  paused: list(PAUSED).describe("What is on hold."),
});

const spread = () => object({ p50: number(), p99: number(), max: number() });
export const SOAK = object({
  ok: boolean(),
  drained: boolean(),
  all_terminal: boolean(),
  lost: count(),
  doubled: count(),
  deadlocks: count(),
  seeds: count(),
  first_seed: count(),
  virtual_ms: count(),
  took_ms: count(),
  events: count(),
  claims: count(),
  tasks: count(),
  memory_bytes: count(),
  memory_growth_bytes: integer(),
  wait_ms: spread(),
  claim_ms: spread(),
  failures: list(object({ seed: count(), law: words(), command: words() })),
  real: object({
    kills: count(),
    runs: count(),
    tasks: count(),
    drained: boolean(),
    memory_growth_bytes: integer(),
    broken: names(),
  }).optional(),
});

export type SoakReply = Infer<typeof SOAK>;

const anyKey = { accepts: () => true, expects: "any name", pattern: "" };

export const OUTPUTS = {
  check: DIAGNOSTICS,
  simulate: SIMULATION,
  run: SUMMARY,
  "run --dry-run": DRY_RUN,
  serve: object({ socket: words(), url: words().optional(), token: words().optional(), pid: count() }),
  submit: SUBMITTED,
  "submit --wait": SUMMARY,
  retry: SUMMARY,
  "retry --no-wait": SUBMITTED,
  "session join": SESSION,
  "session leave": object({ session: words(), left: boolean() }),
  "session beat": SESSION,
  "session wait": nullable(WAKE),
  claim: nullable(GRANT),
  start: LEASE,
  heartbeat: LEASE,
  progress: LEASE,
  complete: SETTLED,
  fail: SETTLED,
  release: SETTLED,
  status: STATUS,
  "status --all": ALL_RUNS,
  why: WHY,
  workers: EVERY_WORKER,
  timeline: TIMELINE,
  events: EVENT,
  pause: object({ ...PAUSED.fields, scheduler: boolean().describe("Whether a scheduler is at work.") }),
  resume: object({ resumed: boolean(), scheduler: boolean().describe("Whether a scheduler is at work.") }),
  drain: DRAINED,
  edit: object({ ...DONE.fields, changes: record(anyKey, anything()).describe("The fields, as they are now.") }),
  cancel: ASKED_FOR,
  approve: ASKED_FOR,
  requeue: ASKED_FOR,
  doctor: HEALTH,
  prune: object({ dry_run: boolean(), runs: names(), logs: count().describe("How many runs had logs.") }),
  config: record(anyKey, object({ value: anything().optional(), origin: words() })),
  "token issue": ISSUED,
  "token list": object({ tokens: TOKENS }),
  "token revoke": object({ id: words(), revoked: boolean() }),
  soak: SOAK,
} as const satisfies Readonly<Record<string, Schema<unknown>>>;
export type OutputName = keyof typeof OUTPUTS;
/** What the command prints. */
export type Printed<Name extends OutputName> = Infer<(typeof OUTPUTS)[Name]>;

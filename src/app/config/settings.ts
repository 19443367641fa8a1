/** The settings: one table, from which their types, defaults, help, JSON Schema and reference page follow. */
import { POLICIES } from "../../decide/order/look-ahead.ts";
import { PATIENCE } from "../../decide/queue/aging.ts";
import { LANE_POLICIES } from "../../decide/queue/lanes.ts";
import { PRESSURE_PRESETS, type PressurePreset } from "../../decide/queue/pressure.ts";
import { LADDER, STARVING_AGE } from "../../decide/rules/ladder.ts";
import { STUCK_AFTER } from "../../decide/rules/timeouts.ts";
import { formatBytes } from "../../domain/amounts/size.ts";
import { HEARTBEAT_INTERVAL, LEASE_TTL } from "../../domain/lease.ts";
import { SWEEP_LIMIT, SWEEP_REASON, WAKE_REASON } from "../../domain/sessions/cycle.ts";
import { DISPATCH_MODES } from "../../domain/sessions/pool.ts";
import { SESSION_TTL } from "../../domain/sessions/session.ts";
import { formatDuration, type Millis, millis, seconds } from "../../domain/time.ts";
import { ORPHANS, PROCESS_DEFAULTS } from "../../execute/process/options.ts";
import { bytes, duration, idRule } from "../../plan/read/scalars.ts";
import { integer, list, oneOf, type Schema, string, text, union } from "../../std/schema.ts";
import { object, type Read, record } from "../../std/schema-maps.ts";
import { DURABILITIES } from "../../store/sqlite/connect.ts";
import { POLL_INTERVAL } from "../poll.ts";

const WORKERS_MAX = 4_096;
const PASS_NAME = /^[A-Za-z_][A-Za-z0-9_]*\*?$/;
const passName: Schema<string> = text({
  expects: "the name of an environment variable, or the start of one with a *",
  parse: (raw) => (PASS_NAME.test(raw) ? raw : undefined),
  json: { pattern: PASS_NAME.source },
});

const PRESSURE_CHOICES = ["off", ...(Object.keys(PRESSURE_PRESETS) as PressurePreset[])] as const;

const hook = list(string({ min: 1, max: 4_096 }), { min: 1, max: 100 });
export const POOL = object(
  {
    mode: oneOf(DISPATCH_MODES)
      .default("pull")
      .describe(
        "`pull`: sessions claim, and are woken when there is something. `push`: the scheduler assigns. `hybrid`: it assigns what sessions ignore.",
      ),
    wake: hook
      .describe("A command that wakes a session that does not listen: ROTA_SESSION, ROTA_RUN, ROTA_TASK.")
      .optional(),
    spawn: hook.describe("A command that starts a worker for the pool: ROTA_POOL, ROTA_REQUIRES.").optional(),
    covers: list(string({ min: 1, max: 128 }), { max: 1_000 })
      .describe("The capabilities of a worker that `spawn` starts.")
      .optional(),
  },
  { name: "a pool" },
);

export const SETTINGS = {
  workers: integer({ min: 1, max: WORKERS_MAX })
    .optional()
    .describe("How many tasks may run at once. One per core when it is not set."),
  durability: oneOf(DURABILITIES)
    .default("full")
    .describe(
      "`full`: what was recorded survives a power cut. `normal`: faster, and a power cut may lose about the last second; a crash of the program loses nothing.",
    ),
  grace: duration()
    .default(PROCESS_DEFAULTS.grace, formatDuration(PROCESS_DEFAULTS.grace))
    .describe("How long a task that is stopped has to end by itself before it is killed."),
  leaseTtl: duration(millis(100))
    .default(LEASE_TTL, formatDuration(LEASE_TTL))
    .describe(
      "How long a task stays with a worker that gives no sign of life, and how long tasks run on without a scheduler.",
    ),
  heartbeat: duration(millis(20))
    .default(HEARTBEAT_INTERVAL, formatDuration(HEARTBEAT_INTERVAL))
    .describe("How often leases are renewed. At most half of `leaseTtl`."),
  orphans: oneOf(ORPHANS)
    .default(PROCESS_DEFAULTS.orphans)
    .describe(
      "What becomes of running tasks when their scheduler dies. `keep`: they run on for `leaseTtl`, and the next scheduler that goes on with their run takes them " +
        "over; a scheduler of another run in the same state directory ends them. `stop`: they are ended at once.",
    ),
  priorities: oneOf(LANE_POLICIES)
    .default("shares")
    .describe(
      "`shares`: of every hundred starts, critical, high, normal and low get 50, 30, 15 and 5. `strict`: the more urgent always first.",
    ),
  policy: oneOf(POLICIES)
    .default("auto")
    .describe(
      "How the order within a run is found. `plain`: the longest remaining path first. `rollout`: several orders are tried out by simulation. `auto`: that where earlier runs have shown that the estimates are worth it.",
    ),
  patienceDispatches: integer({ min: 1, max: 1_000_000 })
    .default(PATIENCE.dispatches)
    .describe("After how many starts of others, and `patienceWait`, a waiting task moves up one priority."),
  patienceWait: duration()
    .default(PATIENCE.wait, formatDuration(PATIENCE.wait))
    .describe("How long a task waits, at the least, before it moves up, or before what is free is kept for it."),
  pressure: oneOf(PRESSURE_CHOICES)
    .default("off")
    .describe(
      "How many tasks a shared queue holds before less is started at once: `strict` 1000, `standard` 10000, `permissive` 50000.",
    ),
  sessionTtl: duration(seconds(1))
    .default(SESSION_TTL, formatDuration(SESSION_TTL))
    .describe("How long an agent's session keeps a task without a sign of life, unless it says otherwise."),
  ackTimeout: duration(millis(10))
    .default(seconds(10), "10s")
    .describe("How long a session has to begin what it was assigned, in a pool that pushes."),
  offerTtl: duration(millis(10))
    .default(seconds(30), "30s")
    .describe("How long a task is kept for the session that was woken for it."),
  wakeInterval: duration(millis(10))
    .default(seconds(15), "15s")
    .describe("How often the scheduler looks for sessions to wake, besides after every change."),
  wakeCooldown: duration()
    .default(seconds(60), "60s")
    .describe("How long a session is not woken again for the same task. 0s: it may be woken again at once."),
  wakeReason: string({ min: 1, max: 200 })
    .default(WAKE_REASON)
    .describe(
      "What a session is told when it is woken: `why` of the wake, and `ROTA_WAKE_REASON` for the pool's command.",
    ),
  sweepLimit: integer({ min: 0, max: 1_000_000 })
    .default(SWEEP_LIMIT)
    .describe("How many leases that ran out one look of the wake scheduler deals with at most. 0: all."),
  sweepReason: string({ min: 1, max: 200 })
    .default(SWEEP_REASON)
    .describe("What the ledger says of sessions and leases that such a look takes back."),
  stuckAfter: duration(seconds(1))
    .default(STUCK_AFTER, formatDuration(STUCK_AFTER))
    .describe(
      "How long the holder of a pool's task may say nothing before that is told; after three times as long it is stopped. A task's own `progress` goes first.",
    ),
  pollInterval: duration(millis(10))
    .default(POLL_INTERVAL, formatDuration(POLL_INTERVAL))
    .describe(
      "How often files that the system does not watch are looked at, as on a network disk: by the scheduler, and by commands that follow what happens.",
    ),
  starvingAge: duration()
    .default(STARVING_AGE, formatDuration(STARVING_AGE))
    .describe("How long a task waits for a session before anything is done about it."),
  ladder: list(integer({ min: 1, max: 1_000_000 }), { min: 4, max: 4 })
    .where(
      (steps) => steps.every((step, at) => at === 0 || step >= (steps[at - 1] as number)),
      "four numbers that do not fall",
    )
    .default([LADDER.fanOut, LADDER.spawn, LADDER.event, LADDER.park])
    .describe(
      "After how many looks in vain more sessions are woken for a task, a worker is asked for, it is told, and it is parked.",
    ),
  pools: record(idRule, POOL)
    .default({})
    .describe("Groups of sessions: who begins a claim there, and the commands that wake or start one."),
  pass: list(passName, { max: 1_000 })
    .default([])
    .describe("Environment variables that tasks get besides the usual ones. A name may end in `*`."),
  logMaxBytes: union(integer({ min: 1 }), bytes)
    .default(PROCESS_DEFAULTS.logMaxBytes, formatBytes(PROCESS_DEFAULTS.logMaxBytes))
    .describe("The most that is kept of one attempt's output. A log that grows over it loses its middle."),
} as const;

export type Setting = keyof typeof SETTINGS;
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly Setting[];
/** A configuration file as a whole. */
export const SETTINGS_FILE = object(SETTINGS, { name: "the configuration", ignores: /^(?:x-.*|\$schema)$/ });

export type Config = Required<Read<typeof SETTINGS>>;
export const configJsonSchema = () => ({
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Rota configuration",
  ...SETTINGS_FILE.json,
});

/** Settings as a program writes them: durations as text, such as `90s`. */
export type Settings = { readonly [S in Setting]?: Config[S] extends Millis ? string : Config[S] };

/** The daemon itself: what it is, what its wake scheduler does, and who may call it. */
import { boolean, type Infer, list, oneOf } from "../../std/schema.ts";
import { object } from "../../std/schema-maps.ts";
import { SCOPES } from "../scope.ts";
import { PAUSED } from "./control.ts";
import { count, names, time, words } from "./words.ts";

export const INFO = object({
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
  pools: list(object({ pool: words(), ready: count(), sessions: count() })).describe(
    "The pools of sessions that have tasks which are ready, or sessions.",
  ),
  last_seq: count(),
});
export type DaemonInfo = Infer<typeof INFO>;

/** What one cycle saw and did. Tasks are named `run/task`. */
export const CYCLE = object({
  at: time(),
  paused: boolean(),
  pending: count(),
  active: count(),
  sessions: count(),
  recovered: names(),
  woken: list(object({ task: words(), session: words() })),
  wakeFailures: count(),
  noMatch: names().describe("Tasks that no session of the pool could take, idle or not."),
  unclaimable: count().describe("Tasks that no session may claim now: they are on hold, or back off."),
  recentlyNotified: count().describe(
    "Tasks for which no session was woken, because every idle session that could take them was woken for them within `wakeCooldown`.",
  ),
  capacity: count().describe("Tasks for which every session that could come is busy."),
  cooling: count().describe("Of those recently notified, the ones that have waited for `starvingAge`."),
  starved: names(),
  spawned: names(),
  parked: names(),
  recoveryErrors: names().describe("What went wrong with leases that ran out."),
  wakeErrors: names().describe("What went wrong with waking."),
  errors: names().describe("Everything that went wrong."),
});
export type CycleResult = Infer<typeof CYCLE>;

export const STATS = object({
  cycles: count(),
  rebuilds: count(),
  recovered: count(),
  recoveryErrors: count(),
  wakes: count(),
  wakeFailures: count(),
  noMatch: count(),
  unclaimable: count(),
  recentlyNotified: count(),
  starved: count(),
  spawned: count(),
  parked: count(),
  lastCycleAt: time().optional(),
  lastRebuildAt: time().optional(),
  lastRecoveryError: words().optional(),
  lastWakeError: words().optional(),
  lastError: words().optional().describe("The last one of any kind."),
});
export type CycleStats = Infer<typeof STATS>;

const token = {
  id: words(),
  name: words(),
  scope: oneOf(SCOPES),
  created_at: time(),
  expires_at: time().optional(),
  revoked_at: time().optional(),
} as const;
/** A token that was issued, without its secret. */
export const TOKENS = list(object(token));
export type TokenReply = Infer<typeof TOKENS>[number];
export const ISSUED = object({ ...token, token: words().describe("The secret. It is told only now.") });
export type IssuedToken = Infer<typeof ISSUED>;

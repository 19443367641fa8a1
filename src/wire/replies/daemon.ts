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
  noMatch: names(),
  capacity: count(),
  cooling: count(),
  starved: names(),
  spawned: names(),
  parked: names(),
  errors: names(),
});
export type CycleResult = Infer<typeof CYCLE>;

export const STATS = object({
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

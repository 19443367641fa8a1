/**
 * An agent's session: a worker that asks for its work. It says who it is when it joins, gives signs of life, claims, and
 * reports. Its leases say which tasks it holds; here stands who it is and how it is.
 */
import type { WorkerId } from "../ids.ts";
import { hours, type Instant, type Millis, minutes } from "../time.ts";

/**
 * `idle`: may be woken. `prompting`: waits for a person, and is left alone. `busy`: says that it does something else. The scheduler
 * finds the others: `stalled` lost a lease and has given no sign of life since, `quarantined` lost several leases in a row.
 */
export const SESSION_STATES = ["idle", "prompting", "busy", "stalled", "quarantined"] as const;
export type SessionState = (typeof SESSION_STATES)[number];
/** What a session may say of itself. */
export const REPORTED_STATES = ["idle", "prompting", "busy"] as const satisfies readonly SessionState[];
export type ReportedState = (typeof REPORTED_STATES)[number];

/** How long a session keeps a task without a sign of life. */
export const SESSION_TTL = minutes(5);
export const SESSION_TTL_MAX = hours(24);
/** Leases lost in a row after which a session is given nothing more until it joins again. */
export const LOSSES_MAX = 3;

/** What is fixed about a session from the moment it joins. */
export interface SessionProfile {
  readonly id: WorkerId;
  /** What kind of agent it is: `claude`, `codex`, `reviewer`. */
  readonly agent: string;
  readonly pool: string;
  /** Where it works; a session without one takes only tasks without one. */
  readonly workspace?: string;
  readonly channel?: string;
  readonly capabilities: readonly string[];
  /** How many tasks it does at once. */
  readonly slots: number;
  readonly ttl: Millis;
  /** The id of the token that joined it, and that it belongs to; absent where the owner of the state directory did. */
  readonly owner?: string;
}

/** A session in the World. Only the reducer writes to it. */
export interface Session {
  readonly profile: SessionProfile;
  readonly joinedAt: Instant;
  state: SessionState;
  /** Its last sign of life that was written down. */
  seenAt: Instant;
  /** Leases lost in a row. */
  losses: number;
}

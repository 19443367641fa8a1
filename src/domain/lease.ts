/** The right to work on a task and to report on it. See README.md in this folder for why it is shaped this way. */
import type { RunId, TaskId, WorkerId } from "./ids.ts";
import { type Instant, type Millis, seconds } from "./time.ts";

export const LEASE_TTL = seconds(30);
export const HEARTBEAT_INTERVAL = seconds(5);
/** Leases lost in a row after which a task is taken to be the cause, and is parked. */
export const EXPIRIES_MAX = 3;

export interface Lease {
  readonly worker: WorkerId;
  /** Names this claim. It only grows, so a report that carries an older one is refused. */
  readonly fence: number;
  readonly deadline: Instant;
  /** SHA-256 of the token the holder was given; the token itself is kept nowhere. */
  readonly tokenHash: string;
}

/** What the holder of a lease names in a report: which claim it is, and the token that proves that the claim is its own. */
export interface LeaseProof {
  readonly run: RunId;
  readonly task: TaskId;
  readonly fence: number;
  readonly token: string;
}

/** A lease holds up to and including its deadline. */
export const isExpired = (lease: Lease, now: Instant): boolean => now > lease.deadline;

export const renewed = (lease: Lease, now: Instant, ttl: Millis): Lease => ({
  ...lease,
  deadline: Math.max(lease.deadline, now + ttl) as Instant,
});

/** Stands where the hash of a token would. Only the scheduler reports on what this machine's own workers hold, so such a lease has no token. */
export const NO_TOKEN = "-";

/** Whether a worker inside the scheduler holds it. */
export const isLocal = ({ tokenHash }: Lease): boolean => tokenHash === NO_TOKEN;

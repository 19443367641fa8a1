/** What the cycle sees, what it may do, and what it reports. There is no way to claim in here. */

import type { Event, TaskNews } from "../../domain/event.ts";
import type { WorkerId } from "../../domain/ids.ts";
import type { Run } from "../../domain/run.ts";
import type { CycleReport, WakeTally } from "../../domain/sessions/cycle.ts";
import type { Session } from "../../domain/sessions/session.ts";
import type { Task } from "../../domain/task.ts";
import type { Instant, Millis } from "../../domain/time.ts";

/** The events that the cycle may write. Claims are not among them. */
export type WakeNews = Extract<
  TaskNews,
  { readonly kind: "offered" | "offer_ended" | "starving" | "spawn_asked" | "starved" | "parked" }
>;

/** A task that waits for a session. */
export interface Pending {
  readonly run: Run;
  readonly task: Task;
  readonly pool: string;
  readonly since: Instant;
}
/** Which sessions a task has: an idle one, only busy ones, or none. */
export type Fit = "idle" | "busy" | "none";

/** One moment, as the cycle sees it, and what the cycle may do then. Everything done here becomes durable together. */
export interface WakeTurn {
  readonly now: Instant;
  readonly paused: boolean;
  /** Deals with expired leases, and with sessions without a sign of life. */
  sweep(limit: number, why: string): readonly string[];
  /** Tasks that wait for sessions, on hold or not. */
  pending(): readonly Pending[];
  pendingCount(): number;
  /** The tasks among them that are kept for a session. */
  offered(): readonly Pending[];
  /** How many tasks sessions hold. */
  active(): number;
  /** Every session that could be woken, idle and without a waiting call, in the order of joining. */
  wakeable(): readonly Session[];
  sessions(): number;
  /** The task to wake the session for, by the order of its own pool. */
  choose(session: Session, may: (task: Task) => boolean): Pending | undefined;
  /** Whether a session could take the task: an idle one, only busy ones, or none. */
  fit(pending: Pending): Fit;
  /** Idle sessions that could take the task. */
  suited(pending: Pending): readonly Session[];
  isPaused(pending: Pending): boolean;
  write(pending: Pick<Pending, "run" | "task">, news: WakeNews): void;
}

/** A wake says that a task waits. It assigns nothing. */
export interface WakeTarget {
  readonly session: WorkerId;
  readonly run: Run;
  readonly task: Task;
  readonly until: Instant;
  readonly reason: "offered" | "fan-out";
  /** The reason, for the session. */
  readonly why: string;
}
/** Gets all targets in one call, and gives one error, or none, for each. */
export interface Waker {
  wake(targets: readonly WakeTarget[]): Promise<readonly (Error | undefined)[]>;
}

/** A step of the ladder that a person should hear of: reported when it is durable, and again with each cycle until the actor has taken it. */
export type Escalation =
  | { readonly kind: "starved"; readonly pending: Pending; readonly waitedMs: Millis }
  | { readonly kind: "parked"; readonly pending: Pending; readonly message: string };
export type CycleResult = CycleReport;
export type CycleStats = WakeTally;
export interface Rebuilt {
  readonly pending: number;
  readonly active: number;
  readonly sessions: number;
  readonly clearedWakes: number;
  readonly at: Instant;
}

export const nameOf = ({ run, task }: Pick<Pending, "run" | "task">): string => `${run.manifest.id}/${task.spec.id}`;

const CAUSES: ReadonlySet<Event["kind"]> = new Set<Event["kind"]>([
  "run_submitted",
  "succeeded",
  "failed",
  "retried",
  "expired",
  "released",
  "requeued",
  "approved",
  "edited",
  "offer_ended",
  "session_joined",
  "session_changed",
  "resumed",
]);
/** Whether the event may give a session something to do: then the idle sessions are looked at. */
export const isCause = ({ kind }: Event): boolean => CAUSES.has(kind);

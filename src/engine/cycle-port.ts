/** What the cycle sees, what it may do, and what it says of it. There is no way to claim in here. */
import type { CycleReport, CycleTally } from "../domain/cycle.ts";
import type { Event, TaskNews } from "../domain/event.ts";
import type { WorkerId } from "../domain/ids.ts";
import type { Run } from "../domain/run.ts";
import type { Session } from "../domain/session.ts";
import type { Task } from "../domain/task.ts";
import type { Instant, Millis } from "../domain/time.ts";

/** What the cycle may write down. Claims are not among it. */
export type CycleNews = Extract<
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
/** Why nobody was woken for a task. */
export type Fit = "idle" | "busy" | "nobody";

/** One moment, as the cycle sees it, and what it may do then. Everything done here becomes durable together. */
export interface CycleTurn {
  readonly now: Instant;
  readonly paused: boolean;
  /** Deals with leases that have run out, and with sessions that were not heard of. */
  sweep(limit: number, why: string): readonly string[];
  /** Tasks that wait for sessions, on hold or not. */
  pending(): readonly Pending[];
  pendingCount(): number;
  /** Those of them that are kept for somebody. */
  offered(): readonly Pending[];
  /** How many tasks sessions have. */
  active(): number;
  /** Every session that could be woken, idle and not waiting already, in the order of joining. */
  wakeable(): readonly Session[];
  sessions(): number;
  /** The task the session should be woken for, its own pool's order kept. */
  choose(session: Session, may: (task: Task) => boolean): Pending | undefined;
  /** Whether anybody could take it: somebody idle, only busy ones, or nobody. */
  fit(pending: Pending): Fit;
  /** Idle sessions that could take it. */
  suited(pending: Pending): readonly Session[];
  isPaused(pending: Pending): boolean;
  write(pending: Pick<Pending, "run" | "task">, news: CycleNews): void;
}

/** A wake says that there is something to claim. It assigns nothing. */
export interface WakeTarget {
  readonly session: WorkerId;
  readonly run: Run;
  readonly task: Task;
  readonly until: Instant;
  readonly reason: "offered" | "fan-out";
  /** In words, for whoever is woken. */
  readonly why: string;
}
/** Gets all targets in one call, and gives one error, or none, for each. */
export interface Waker {
  wake(targets: readonly WakeTarget[]): Promise<readonly (Error | undefined)[]>;
}

/** What the ladder leads to that a person should hear of: told when it is durable, and again with each cycle until it is heard. */
export type Escalation =
  | { readonly kind: "starved"; readonly pending: Pending; readonly waitedMs: Millis }
  | { readonly kind: "parked"; readonly pending: Pending; readonly message: string };
export type CycleResult = CycleReport;
export type CycleStats = CycleTally;
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
/** Whether it may have given a session something to do: then whoever is idle is worth a look. */
export const isCause = ({ kind }: Event): boolean => CAUSES.has(kind);

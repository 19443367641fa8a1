/**
 * A task of a run and the states it can be in.
 *
 *   blocked ──last need met──► ready ──claim──► claimed ──start──► running ──► verifying ──► succeeded | failed
 *      │                        ▲ │                │                  │             │
 *      │                        │ └── never ──► parked ◄── poison ────┤             │
 *      │                        └──── retry, release, expiry ─────────┴─────────────┘
 *      └──► skipped (a need did not succeed) · cancelled (a person asked; from any state that is not an end)
 *
 * Only tasks with `verify` are ever `verifying`: the work is done and its worker is free, and the scheduler runs the acceptance command.
 * `blocked` and `ready` differ only in whether the needs are met, which the graph knows: the store keeps both as `waiting`.
 */
import type { TaskNo } from "./graph.ts";
import type { WorkerId } from "./ids.ts";
import type { Lease } from "./lease.ts";
import type { Outcome, Success, TimeoutLimit } from "./outcome.ts";
import type { Priority, TaskSpec } from "./spec.ts";
import { type Instant, type Millis, millis } from "./time.ts";

/** The states that a task can be in. */
export const TASK_STATES = [
  "blocked",
  "ready",
  "claimed",
  "running",
  "verifying",
  "succeeded",
  "failed",
  "cancelled",
  "skipped",
  "parked",
] as const;
/** One of `TASK_STATES`. */
export type TaskState = (typeof TASK_STATES)[number];

/** Ends: a task never leaves these. */
export const TERMINAL_STATES = ["succeeded", "failed", "cancelled", "skipped"] as const;
export type TerminalState = (typeof TERMINAL_STATES)[number];

/** Which person asked, and why: for everything that a person decides. */
export interface Asked {
  readonly by: string;
  readonly why?: string;
}

/** What identifies a process, so that it is found again after a crash and no other process is taken for it. */
export interface ProcessIdentity {
  readonly pid: number;
  /** When the kernel started it, in its own units; pids are reused, pairs are not. */
  readonly startTime: string;
  readonly bootId: string;
}

/** Why a live attempt is being stopped. Recorded before anything is sent to it. */
export type StopReason =
  | { readonly kind: "timeout"; readonly limit: TimeoutLimit }
  | { readonly kind: "cancelled"; readonly asked: Asked }
  | { readonly kind: "shutdown" };

export interface Blocked {
  readonly state: "blocked";
}
export interface Ready {
  readonly state: "ready";
  /** Since when it could have run, without counting a back-off: the start of its wait. */
  readonly since: Instant;
  /** Back-off: not before this. Its own field, not a lease. */
  readonly notBefore: Instant;
}
export interface Claimed {
  readonly state: "claimed";
  readonly lease: Lease;
  readonly since: Instant;
  readonly stopping?: StopReason;
}
export interface Running {
  readonly state: "running";
  readonly lease: Lease;
  readonly since: Instant;
  readonly process?: ProcessIdentity;
  readonly stopping?: StopReason;
}
/** The work is done. Its worker is free, its files stay locked, and the scheduler itself holds the lease until the acceptance command has ended. */
export interface Verifying {
  readonly state: "verifying";
  readonly lease: Lease;
  readonly since: Instant;
  /** How the work ended. */
  readonly work: Success;
  /** The worker that did the work. */
  readonly doneBy: WorkerId;
  /** The number of this run of the acceptance command: a run that was lost with its scheduler, or was ended by it, is repeated. */
  readonly tries: number;
  /** How many runs of the acceptance command were lost. */
  readonly losses: number;
  /** Whether the command has begun: only a limited number run at once. */
  readonly begun?: true;
  readonly process?: ProcessIdentity;
  readonly stopping?: StopReason;
}
export interface Succeeded {
  readonly state: "succeeded";
  readonly at: Instant;
  readonly outcome: Outcome;
}
export interface Failed {
  readonly state: "failed";
  readonly at: Instant;
  readonly outcome: Outcome;
  /** Whether it ran out of attempts, or its failure is not worth another one. */
  readonly reason: FailReason;
}
export interface Cancelled {
  readonly state: "cancelled";
  readonly at: Instant;
}
export interface Skipped {
  readonly state: "skipped";
  readonly at: Instant;
  /** The task whose end made this one pointless. */
  readonly because: TaskNo;
}
export interface Parked {
  readonly state: "parked";
  readonly at: Instant;
  readonly reason: ParkReason;
  readonly message?: string;
}

export const FAIL_REASONS = ["abandoned", "permanent"] as const;
export type FailReason = (typeof FAIL_REASONS)[number];
/** `poison`: its workers keep dying. `starved`: no session came for it. `attention`: the failure needs a person. */
export const PARK_REASONS = ["poison", "starved", "attention"] as const;
export type ParkReason = (typeof PARK_REASONS)[number];

/** A worker works on it. */
export type Working = Claimed | Running;
/** Under a lease. */
export type Held = Working | Verifying;
export type Ended = Succeeded | Failed | Cancelled | Skipped;
export type Status = Blocked | Ready | Held | Ended | Parked;

/** A wake bound to one task: for a moment no other session gets the task. */
export interface Offer {
  readonly session: WorkerId;
  readonly until: Instant;
}

/** For how many cycles no session has come for the task, and what was done about it. Durable, so that a restart does not reset the count. */
export interface Starving {
  readonly count: number;
  readonly since: Instant;
  /** How many offers had come to nothing when the count was last raised. */
  readonly ignored?: number;
  readonly spawned?: true;
  readonly told?: true;
}

/** A task in the World. Only the reducer writes to it. */
export interface Task {
  readonly no: TaskNo;
  /** Changes only when a person edits the task. */
  spec: TaskSpec;
  status: Status;
  /** Events about this task so far: the store's compare-and-set, and the proof that none is missing. */
  version: number;
  /** Claims so far. Names the current claim, so it is the fence. */
  attempt: number;
  /** Attempts that counted against the retry budget. A different number on purpose. */
  failures: number;
  /** Leases lost in a row. */
  expiries: number;
  /** How many needs, and a closed gate, still hold it back. */
  unmet: number;
  approved: boolean;
  /** The lane it waits in when that is not its own: it waited too long, or a more urgent task waits for it. Kept until it is claimed. */
  lane?: Priority;
  /** The worker that lost the last lease of this task, to be avoided next time. */
  lostBy?: WorkerId;
  /** The session for which it is kept, while it is. */
  offer?: Offer;
  /** How many offers of it came to nothing since it became ready. */
  ignored?: number;
  /** Which step of the ladder has been reached, while no session comes for it. */
  starving?: Starving;
}

export const isTerminal = (state: TaskState): state is TerminalState =>
  (TERMINAL_STATES as readonly string[]).includes(state);
export const isWorking = (status: Status): status is Working =>
  status.state === "claimed" || status.state === "running";
export const isHeld = (status: Status): status is Held => isWorking(status) || status.state === "verifying";

/** The person who asked for the task to be cancelled while it is held. However its lease ends then, it ends as cancelled. */
export const cancellerOf = (status: Status): Asked | undefined =>
  isHeld(status) && status.stopping?.kind === "cancelled" ? status.stopping.asked : undefined;

/** How far the recorded times of the task lie ahead of now: the clock of this scheduler may be behind that of another. */
export function aheadOf({ status, starving }: Task, now: Instant): Millis {
  const since = "since" in status ? status.since : now;
  return millis(Math.max(since, starving?.since ?? now) - now);
}

/** The lane it is in now. */
export const laneOf = (task: Task): Priority => task.lane ?? task.spec.priority;

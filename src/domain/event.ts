/** Everything that happens, as one union. The ledger is a list of these; every other view is made from it. */

import type { TaskNo } from "./graph.ts";
import type { WorkerId } from "./ids.ts";
import type { Outcome, Success } from "./outcome.ts";
import type { RunEnd, RunManifest, RunNo, RunStall } from "./run.ts";
import type { SessionProfile, SessionState } from "./sessions/session.ts";
import type { Priority, TaskSpec } from "./spec.ts";
import type { Asked, FailReason, ParkReason, ProcessIdentity, StopReason } from "./task.ts";
import type { Instant, Millis } from "./time.ts";
import type { Wait } from "./waiting/explanation.ts";
import type { PauseScope } from "./waiting/pause.ts";

interface OfRun {
  /** Position in the ledger: 1, 2, 3, … without gaps. */
  readonly seq: number;
  readonly at: Instant;
  readonly run: RunNo;
}
interface OfTask extends OfRun {
  readonly task: TaskNo;
  /** Position among the events of this task: 1, 2, 3, … without gaps. */
  readonly version: number;
  /** The claim this is about; 0 before the first. */
  readonly attempt: number;
}

/** Of events that may follow from a call. */
interface FromCall {
  /** The caller: the name and the id of a token, or the name of the owner of the state directory. */
  readonly by?: string;
}

export interface RunSubmitted extends OfRun, FromCall {
  readonly kind: "run_submitted";
  readonly manifest: RunManifest;
  readonly specs: readonly TaskSpec[];
}
/** A scheduler took the run up again after another one had let go of it. */
export interface RunReopened extends OfRun {
  readonly kind: "run_reopened";
  readonly epoch: number;
}
export interface RunCancelling extends OfRun, Asked {
  readonly kind: "run_cancelling";
}
/** Work remains, no worker is at it, and nothing that is awaited will come by itself. */
export interface RunStalled extends OfRun {
  readonly kind: "run_stalled";
  readonly remaining: number;
  readonly outcome: RunStall;
}
export interface RunFinished extends OfRun {
  readonly kind: "run_finished";
  readonly outcome: RunEnd;
}

/** About the scheduler as a whole: what concerns no run stands under run 0. */
export const NO_RUN = 0 as RunNo;

export interface SessionJoined extends OfRun, FromCall {
  readonly kind: "session_joined";
  readonly profile: SessionProfile;
}
export interface SessionChanged extends OfRun, FromCall {
  readonly kind: "session_changed";
  readonly session: WorkerId;
  readonly state: SessionState;
  /** Leases lost in a row. */
  readonly losses: number;
}
export interface SessionLeft extends OfRun, FromCall {
  readonly kind: "session_left";
  readonly session: WorkerId;
  readonly why: string;
}
/** A worker of this machine was given its first task by this scheduler. */
export interface WorkerStarted extends OfRun {
  readonly kind: "worker_started";
  readonly worker: WorkerId;
  readonly node: string;
}
/** The scheduler starts nothing new in this scope until it is resumed; what runs goes on. */
export interface Paused extends OfRun {
  readonly kind: "paused";
  readonly scope: PauseScope;
  readonly asked: Asked;
}
export interface Resumed extends OfRun {
  readonly kind: "resumed";
  readonly scope: PauseScope;
  readonly asked: Asked;
}
/** A drain has ended: so many tasks were still held when it was given up, or none. */
export interface Drained extends OfRun, FromCall {
  readonly kind: "drained";
  readonly scope: PauseScope;
  readonly remaining: number;
}

/** Why the dispatcher chose this task, this moment and this worker: the numbers it went by. */
export interface DispatchEvidence {
  readonly lane: Priority;
  readonly rank: number;
  readonly waitedMs: Millis;
}
export interface TaskClaimed extends OfTask, FromCall {
  readonly kind: "claimed";
  readonly worker: WorkerId;
  readonly deadline: Instant;
  readonly evidence: DispatchEvidence;
  /** The caller's own name for this claim: the same one gives the same grant. */
  readonly key?: string;
  /** Goes into the lease row only: no event, log or view shows it. */
  readonly tokenHash: string;
}
export interface TaskStarted extends OfTask, FromCall {
  readonly kind: "started";
  readonly process?: ProcessIdentity;
}
/** The deadline moved. Not a transition, so the ledger does not keep it; the lease row does. */
export interface LeaseRenewed extends OfTask {
  readonly kind: "lease_renewed";
  readonly deadline: Instant;
}
export interface TaskStopping extends OfTask {
  readonly kind: "stopping";
  readonly reason: StopReason;
}
/** The work is done and its worker is free. The scheduler runs the acceptance command, again where an earlier run of it was lost. */
export interface TaskVerifying extends OfTask, FromCall {
  readonly kind: "verifying";
  readonly worker: WorkerId;
  readonly deadline: Instant;
  /** How the work ended. */
  readonly outcome: Success;
}
export interface TaskSucceeded extends OfTask, FromCall {
  readonly kind: "succeeded";
  readonly outcome: Outcome;
}
export interface TaskFailed extends OfTask, FromCall {
  readonly kind: "failed";
  readonly outcome: Outcome;
  readonly reason: FailReason;
}
export interface TaskRetried extends OfTask, FromCall {
  readonly kind: "retried";
  readonly outcome: Outcome;
  readonly notBefore: Instant;
  /** Whether this try counts against the budget. */
  readonly costs: boolean;
}
/** The lease ran out, or its holder is known to be gone. */
export interface TaskExpired extends OfTask {
  readonly kind: "expired";
  readonly worker: WorkerId;
  readonly notBefore: Instant;
  /** What is known of how it was lost. */
  readonly outcome?: Outcome;
  /** Why the sweep took it back. */
  readonly why?: string;
}
/** The holder handed the task back, or never took it up. */
export interface TaskReleased extends OfTask, FromCall {
  readonly kind: "released";
  readonly why: string;
}
export interface TaskParked extends OfTask, FromCall {
  readonly kind: "parked";
  readonly reason: ParkReason;
  /** What a person should know about it. */
  readonly message?: string;
  readonly outcome?: Outcome;
}
export interface TaskSkipped extends OfTask {
  readonly kind: "skipped";
  readonly because: TaskNo;
}
export interface TaskCancelled extends OfTask {
  readonly kind: "cancelled";
  readonly asked: Asked;
  readonly outcome?: Outcome;
}
/** Parked work put back in the queue; costs no attempt. */
export interface TaskRequeued extends OfTask {
  readonly kind: "requeued";
  readonly asked: Asked;
}
export interface TaskApproved extends OfTask {
  readonly kind: "approved";
  readonly asked: Asked;
}
/** Silent for longer than it should be; nothing was done about it. */
export interface TaskSilent extends OfTask {
  readonly kind: "silent";
  readonly forMs: Millis;
}
/** The task waited longer than it should have: it moves up one lane. */
export interface TaskAged extends OfTask {
  readonly kind: "aged_boost";
  readonly from: Priority;
  readonly to: Priority;
  readonly waitedMs: Millis;
}
/** The task holds files that a more urgent task waits for, and takes over the lane of that task for what it still has to get. */
export interface TaskInherited extends OfTask {
  readonly kind: "priority_inherited";
  readonly to: Priority;
  /** The task that waits. */
  readonly by: TaskNo;
}
/** The task waited this long for files that a less urgent task held. */
export interface TaskInverted extends OfTask {
  readonly kind: "priority_inversion";
  readonly holder: TaskNo;
  readonly forMs: Millis;
}
/** The task is ready and does not start: what it waits for. Written for the first task in line, and again when the reason changes. */
export interface TaskWaiting extends OfTask {
  readonly kind: "waiting";
  readonly wait: Wait;
}
/** The scheduler that took the task up has a clock that is behind the recorded times by so much: the task's wait or run is counted from here. */
export interface TaskSetBack extends OfTask {
  readonly kind: "set_back";
  readonly by: Millis;
}
/** A report that came with an old fence or after its deadline. Nothing was changed by it. */
export interface LateReportRefused extends OfTask, FromCall {
  readonly kind: "late_report_refused";
  readonly fence: number;
  readonly reported: string;
}

/** The task is kept for one session for a moment: that session was woken for it. */
export interface TaskOffered extends OfTask {
  readonly kind: "offered";
  readonly session: WorkerId;
  readonly until: Instant;
}
/** `opened`: other sessions were woken for it too, and the first that claims it has it. */
export const OFFER_ENDS = ["ignored", "unreachable", "gone", "paused", "opened"] as const;
export type OfferEnd = (typeof OFFER_ENDS)[number];
export interface OfferEnded extends OfTask {
  readonly kind: "offer_ended";
  readonly session: WorkerId;
  readonly why: OfferEnd;
}
/** Another cycle in which no session came for the task, although it is old enough. */
export interface TaskStarving extends OfTask {
  readonly kind: "starving";
  readonly count: number;
}
/** The scheduler asked for a worker that can do the task. */
export interface SpawnAsked extends OfTask {
  readonly kind: "spawn_asked";
  readonly pool: string;
}
/** No session comes for the task: written once. */
export interface TaskStarved extends OfTask {
  readonly kind: "starved";
  readonly count: number;
  readonly waitedMs: Millis;
}
/** A person changed what is to be done. */
export interface TaskEdited extends OfTask {
  readonly kind: "edited";
  readonly changes: Partial<TaskSpec>;
  readonly asked: Asked;
}
/** What the holder says about its progress. */
export interface TaskNoted extends OfTask, FromCall {
  readonly kind: "noted";
  readonly note: string;
}

export type SystemEvent = SessionJoined | SessionChanged | SessionLeft | WorkerStarted | Paused | Resumed | Drained;
export type RunEvent = RunSubmitted | RunReopened | RunCancelling | RunStalled | RunFinished;
export type TaskEvent =
  | TaskClaimed
  | TaskStarted
  | LeaseRenewed
  | TaskStopping
  | TaskVerifying
  | TaskSucceeded
  | TaskFailed
  | TaskRetried
  | TaskExpired
  | TaskReleased
  | TaskParked
  | TaskSkipped
  | TaskCancelled
  | TaskRequeued
  | TaskApproved
  | TaskSilent
  | TaskAged
  | TaskInherited
  | TaskInverted
  | TaskWaiting
  | TaskSetBack
  | LateReportRefused
  | TaskOffered
  | OfferEnded
  | TaskStarving
  | SpawnAsked
  | TaskStarved
  | TaskEdited
  | TaskNoted;
/** An event of the ledger, with the numbers that the store knows runs and tasks by. `EventReply` has their names. */
export type Event = SystemEvent | RunEvent | TaskEvent;
/** What can happen. */
export type EventKind = Event["kind"];

/** What is new in an event: the engine adds the sequence numbers and the time. */
export type SystemNews = WithoutPosition<SystemEvent, "seq" | "at" | "run">;
export type RunNews = WithoutPosition<RunEvent, "seq" | "at" | "run">;
export type TaskNews = WithoutPosition<TaskEvent, "seq" | "at" | "run" | "task" | "version" | "attempt">;
type WithoutPosition<E, K extends PropertyKey> = E extends unknown ? Omit<E, K> : never;

const SYSTEM_KINDS: ReadonlySet<string> = new Set<SystemEvent["kind"]>([
  "session_joined",
  "session_changed",
  "session_left",
  "worker_started",
  "paused",
  "resumed",
  "drained",
]);
const FROM_CALLS: ReadonlySet<string> = new Set<EventKind>([
  ...(["run_submitted", "session_joined", "session_changed", "session_left", "drained"] as const),
  ...(["claimed", "started", "noted", "verifying", "succeeded", "failed", "retried", "released", "parked"] as const),
  "late_report_refused",
]);
/** Whether such an event names the caller, where it follows from a call. Other kinds name the person as `asked`, or follow from no call. */
export const isFromCall = (kind: EventKind): boolean => FROM_CALLS.has(kind);
const ATTEMPT_ENDS: ReadonlySet<string> = new Set<EventKind>([
  ...(["succeeded", "failed", "retried", "expired", "released", "parked", "cancelled"] as const),
]);
/** Whether such an event ends an attempt, and so the hold of its worker on the task. */
export const isAttemptEnd = (kind: EventKind): boolean => ATTEMPT_ENDS.has(kind);
export const isSystemEvent = (event: Event): event is SystemEvent => SYSTEM_KINDS.has(event.kind);
export const isTaskEvent = (event: Event): event is TaskEvent => "task" in event;
/** Renewals are kept in the lease row, not in the ledger. */
export const isRecorded = (event: Event): boolean => event.kind !== "lease_renewed";

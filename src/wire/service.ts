/**
 * What a daemon does for those who call it. The HTTP server, the MCP server and the programs in this package all speak to this one
 * contract; whatever is answered is durable. Refusals are `UserError`s with a stable code.
 */

import type { Authority } from "../domain/authority.ts";
import type { CycleReport, CycleTally } from "../domain/cycle.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { RunOutcome } from "../domain/run.ts";
import type { SessionState } from "../domain/session.ts";
import type { Priority } from "../domain/spec.ts";
import type {
  BeatRequest,
  CancelRequest,
  ClaimRequest,
  CompleteRequest,
  DrainRequest,
  EditRequest,
  EventsRequest,
  FailRequest,
  JoinRequest,
  LeaseRequest,
  ListRequest,
  PauseRequest,
  ProgressRequest,
  ReleaseRequest,
  RetryRequest,
  SubmitRequest,
  TaskRequest,
  TokenRequest,
} from "./messages.ts";

/** Who calls: attributed in the ledger. A call that waits ends when its signal is aborted. */
export interface Caller {
  readonly by: string;
  /** For which sessions the caller may act. The daemon finds it out by itself when it is called; without it a caller may for none. */
  readonly authority?: Authority;
  readonly signal?: AbortSignal;
}

export interface Submitted {
  readonly run: string;
  readonly tasks: number;
  /** The key had been used: this is the run it began then. */
  readonly repeated: boolean;
}

/** What a session is given: the task, what to do, and the proof that it may report on it. Times are ISO 8601. */
export interface Grant {
  readonly run: string;
  readonly task: string;
  readonly attempt: number;
  readonly fence: number;
  readonly token: string;
  readonly deadline: string;
  readonly ttl_ms: number;
  readonly title?: string;
  readonly priority: Priority;
  /** A command, or what an agent is asked to do. */
  readonly command?: string | readonly string[];
  readonly prompt?: string;
  readonly directory: string;
  readonly env: Readonly<Record<string, string>>;
  readonly reads: readonly string[];
  readonly writes: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** The lease after a report that did not end it. `stop` says that it should be: wind down and report. */
export interface LeaseReply {
  readonly run: string;
  readonly task: string;
  readonly fence: number;
  readonly deadline: string;
  /** `by`: when it is ended from here, where that is not the deadline of the lease. */
  readonly stop?: { readonly kind: string; readonly why?: string; readonly by?: string };
}
/** What a report that ended a lease has led to. */
export interface Settled {
  readonly run: string;
  readonly task: string;
  readonly fence: number;
  /** The state of the task afterwards: `ready` when it will be tried again. */
  readonly state: string;
  /** The same report had been taken before; nothing changed. */
  readonly repeated: boolean;
}

export interface SessionReply {
  readonly session: string;
  readonly agent: string;
  readonly pool: string;
  readonly mode: "push" | "pull" | "hybrid";
  readonly workspace?: string;
  readonly channel?: string;
  readonly capabilities: readonly string[];
  readonly slots: number;
  readonly ttl_ms: number;
  readonly state: SessionState;
  readonly seen_at: string;
  readonly holds: readonly {
    readonly run: string;
    readonly task: string;
    readonly fence: number;
    readonly deadline: string;
    readonly stop?: string;
  }[];
}
/** A wake: there is something to claim, and it is kept for this session until then. Says nothing about ownership. */
export interface Wake {
  readonly run: string;
  readonly task: string;
  readonly title?: string;
  readonly until: string;
  readonly reason: "offered" | "fan-out" | "assigned";
}

export interface WorkerReply {
  readonly worker: string;
  readonly kind: "local" | "session";
  readonly pool: string;
  readonly state: string;
  readonly task?: string;
  readonly run?: string;
  readonly since?: string;
}

export interface PauseReply {
  readonly of: "scheduler" | "pool" | "run" | "task";
  readonly pool?: string;
  readonly run?: string;
  readonly task?: string;
  readonly by: string;
  readonly why?: string;
  readonly at: string;
}
/** How a drain ended: what is still out. */
export interface DrainReply {
  readonly drained: boolean;
  readonly remaining: readonly { readonly run: string; readonly task: string; readonly worker: string }[];
}

export interface DaemonInfo {
  readonly version: string;
  readonly pid: number;
  readonly state: string;
  readonly socket: string;
  readonly since: string;
  readonly workers: number;
  readonly paused: readonly PauseReply[];
  readonly runs: number;
  readonly queued: number;
  readonly out: number;
  readonly parked: number;
  readonly sessions: number;
  readonly last_seq: number;
}

export interface RunSummary {
  readonly run: string;
  readonly name: string;
  readonly state: "active" | "stalled" | "finished";
  readonly outcome?: RunOutcome;
  readonly tasks: number;
}

/** What came of something a person asked for. */
export interface Done {
  readonly run: string;
  readonly task?: string;
  /** `underway`: what runs is being stopped. */
  readonly answer: "done" | "underway";
}

export interface Service {
  info(): Promise<DaemonInfo>;
  submit(request: SubmitRequest, caller: Caller): Promise<Submitted>;
  /** The newest first. */
  runs(request: ListRequest): Promise<readonly RunSummary[]>;
  /** As `rota status --json` prints it. */
  status(run: string | undefined): Promise<unknown>;
  /** As `rota why --json` prints it. */
  why(run: string | undefined, task: string): Promise<unknown>;
  /** Kept when the run has finished or is stalled, or when the wait is over: then `outcome` is absent. */
  await(run: string, waitMs: number, caller: Caller): Promise<{ readonly run: string; readonly outcome?: RunOutcome }>;
  /** As `rota events --json` prints them, oldest first. */
  events(request: EventsRequest): Promise<readonly EventReply[]>;
  /** Calls `tell` for every event after `after` that becomes durable, in order and without a gap, until the signal is aborted. */
  follow(request: EventsRequest, tell: (event: EventReply) => void, signal: AbortSignal): Promise<void>;

  join(request: JoinRequest, caller: Caller): Promise<SessionReply>;
  beat(session: string, request: BeatRequest, caller: Caller): Promise<SessionReply>;
  leave(session: string, caller: Caller): Promise<void>;
  sessions(): Promise<readonly SessionReply[]>;
  workers(): Promise<readonly WorkerReply[]>;
  /** The next wake for the session; nothing when none comes within the wait. */
  wake(session: string, waitMs: number, caller: Caller): Promise<Wake | undefined>;
  /** In a pool that pushes: what was assigned to the session and not yet begun. */
  assignment(session: string, waitMs: number, caller: Caller): Promise<Grant | undefined>;

  claim(request: ClaimRequest, caller: Caller): Promise<Grant | undefined>;
  start(request: LeaseRequest, caller: Caller): Promise<LeaseReply>;
  heartbeat(request: LeaseRequest, caller: Caller): Promise<LeaseReply>;
  progress(request: ProgressRequest, caller: Caller): Promise<LeaseReply>;
  complete(request: CompleteRequest, caller: Caller): Promise<Settled>;
  fail(request: FailRequest, caller: Caller): Promise<Settled>;
  release(request: ReleaseRequest, caller: Caller): Promise<Settled>;

  pause(request: PauseRequest, caller: Caller): Promise<PauseReply>;
  resume(request: PauseRequest, caller: Caller): Promise<{ readonly resumed: boolean }>;
  drain(request: DrainRequest, caller: Caller): Promise<DrainReply>;
  cancel(request: CancelRequest, caller: Caller): Promise<Done>;
  retry(request: RetryRequest, caller: Caller): Promise<Submitted>;
  requeue(request: TaskRequest, caller: Caller): Promise<Done>;
  approve(request: TaskRequest, caller: Caller): Promise<Done>;
  edit(request: EditRequest, caller: Caller): Promise<Done>;

  /** One cycle of the wake scheduler, at once. */
  cycle(): Promise<CycleResult>;
  stats(): CycleStats | Promise<CycleStats>;
}

/** An event as it is printed: `seq`, `at`, `run`, `kind`, `task`, `attempt`, and what else it has. */
export type EventReply = { readonly seq: number } & Readonly<Record<string, unknown>>;

export type CycleResult = CycleReport<string>;
export type CycleStats = CycleTally<string>;

/** A token that was issued, without its secret. Times are ISO 8601. */
export interface TokenReply {
  readonly id: string;
  readonly name: string;
  readonly scope: "read" | "work" | "admin";
  readonly created_at: string;
  readonly expires_at?: string;
  readonly revoked_at?: string;
}
/** The only time the secret is told. */
export interface IssuedToken extends TokenReply {
  readonly token: string;
}
/** Who may call over TCP, beside the owner of the state directory. */
export interface Tokens {
  issue(request: TokenRequest, caller: Caller): Promise<IssuedToken>;
  list(): Promise<readonly TokenReply[]>;
  /** From now on it is refused. Revoking twice is harmless. */
  revoke(id: string, caller: Caller): Promise<void>;
}

/** How an attempt ended, as a session reports it. */
export type ReportedOutcome = Outcome;

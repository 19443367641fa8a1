/**
 * What a daemon does for its callers. The HTTP server, the MCP server and the programs in this package all use this one
 * contract; everything it has answered is durable. Refusals are `UserError`s with a stable code.
 */

import type { Authority } from "../domain/authority.ts";
import type {
  CycleResult,
  CycleStats,
  DaemonInfo,
  Done,
  DrainReply,
  EventReply,
  Grant,
  IssuedToken,
  LeaseReply,
  ManifestReply,
  PauseReply,
  RunOutcomeReply,
  RunSummary,
  SessionReply,
  Settled,
  StatusReply,
  Submitted,
  TokenReply,
  Wake,
  WhyReply,
  WorkerReply,
} from "./answers.ts";
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

/** The caller: named in the ledger. A call that waits ends when its signal is aborted. */
export interface Caller {
  readonly by: string;
  /** For which sessions the caller may act. The daemon finds it out when it is called; without it a caller may act for none. */
  readonly authority?: Authority;
  readonly signal?: AbortSignal;
}

/** Every call that a daemon answers. `Client` has the same, without the caller. */
export interface Service {
  info(): Promise<DaemonInfo>;
  submit(request: SubmitRequest, caller: Caller): Promise<Submitted>;
  /** The newest first. */
  runs(request: ListRequest): Promise<readonly RunSummary[]>;
  /** As `rota status --json` prints it. */
  status(run: string | undefined): Promise<StatusReply>;
  /** As `rota run --manifest` writes it. */
  manifest(run: string | undefined): Promise<ManifestReply>;
  /** As `rota why --json` prints it. */
  why(run: string | undefined, task: string): Promise<WhyReply>;
  /** Resolves when the run has finished or is stalled, or when the wait is over: then `outcome` is absent. */
  await(run: string, waitMs: number, caller: Caller): Promise<RunOutcomeReply>;
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

/** The callers over TCP, beside the owner of the state directory. */
export interface Tokens {
  issue(request: TokenRequest, caller: Caller): Promise<IssuedToken>;
  list(): Promise<readonly TokenReply[]>;
  /** From now on the token is refused. Revoking twice is harmless. */
  revoke(id: string, caller: Caller): Promise<void>;
}

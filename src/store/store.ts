/**
 * Where everything is kept. Verbs of the domain, not queries. Whatever a verb has answered survives any crash after the answer.
 * One scheduler at a time owns a store and writes through `commit`; any process may read, and leave a request for the owner.
 */

import type { DurationSample, History } from "../domain/durations/history.ts";
import type { Event, RunSubmitted } from "../domain/event.ts";
import type { TaskNo } from "../domain/graph.ts";
import type { RunId, WorkerId } from "../domain/ids.ts";
import type { TaskRef } from "../domain/outcome.ts";
import type { RunNo } from "../domain/run.ts";
import type { Session } from "../domain/sessions/session.ts";
import type { Amounts, TaskSpec } from "../domain/spec.ts";
import type { ProcessIdentity } from "../domain/task.ts";
import { hours, type Instant } from "../domain/time.ts";
import type { Pause } from "../domain/waiting/pause.ts";
import type { Result } from "../std/result.ts";
import type { Range } from "../std/skips.ts";
import type { RunRow, TaskRow } from "./rows.ts";

/** The process that schedules for a store. */
export interface Owner {
  readonly process: ProcessIdentity;
  readonly host: string;
  readonly command: string;
  readonly since: Instant;
  /** What it schedules with, so that other processes can explain its choices. */
  readonly workers: number;
  readonly capacity: Amounts;
  /** What its workers can do beside what all can; nothing when absent. */
  readonly capabilities?: readonly string[];
  /** How full its queue may be before fewer tasks run at once; without it the queue is never too full. */
  readonly pressure?: { readonly depth: number; readonly thresholds: readonly [number, number, number] };
}

/** Grows with every change of owner, so that a scheduler that was taken for dead cannot write any more. */
export type Epoch = number;

/** The right to schedule for a store. */
export interface Term {
  readonly epoch: Epoch;
  /**
   * When it ends unless it is renewed before, by the clock that the store was given. The store may judge by another clock, and gives a
   * moment on the safe side. Without an end it lasts for as long as the store sees the owner alive.
   */
  readonly expires?: Instant;
}

/** The owner on record, and whether its term still holds. Only the store can tell: it judges by its own clock, or by the owner's process. */
export interface OnRecord extends Owner {
  readonly lives: boolean;
}

/** Everything that became true in one turn: written whole or not at all. */
export interface Batch {
  readonly epoch: Epoch;
  readonly events: readonly Event[];
  /** New runs, with their tasks. */
  readonly submitted: readonly RunSubmitted[];
  readonly runs: readonly RunRow[];
  readonly tasks: readonly TaskWrite[];
  /** Requests that this turn has handled. */
  readonly requestsDone: readonly number[];
  /** The durations of finished runs, by the name of their plan. */
  readonly durationSamples: readonly { readonly plan: string; readonly durationSamples: readonly DurationSample[] }[];
  /** Tasks that a person changed, as they are now. */
  readonly edited: readonly SpecWrite[];
  /** Sessions as they are now; `undefined` for a session that has left. */
  readonly sessions: readonly { readonly id: WorkerId; readonly session: Session | undefined }[];
  /** Pauses as they are now, by the key of their scope; `undefined` for a pause that has ended. */
  readonly pauses: readonly { readonly key: string; readonly pause: Pause | undefined }[];
  /** The answers to requests that came with a key. */
  readonly answers: readonly Remembered[];
  /** Idempotency keys with which tasks have succeeded. */
  readonly done: readonly DoneKey[];
}
/** An empty batch, to begin from. */
export const NOTHING: Omit<Batch, "epoch"> = {
  events: [],
  submitted: [],
  runs: [],
  tasks: [],
  requestsDone: [],
  durationSamples: [],
  edited: [],
  sessions: [],
  pauses: [],
  answers: [],
  done: [],
};
export interface SpecWrite {
  readonly run: RunNo;
  readonly task: TaskNo;
  readonly spec: TaskSpec;
}
/** Which task has succeeded with an idempotency key, and its result. Kept when its run is forgotten: the key stays done. */
export interface DoneKey {
  readonly key: string;
  readonly by: TaskRef;
  readonly summary?: string;
  readonly result?: unknown;
}
/** The key of a request and what it led to: a run, or one claim of one of its tasks. */
export interface Remembered {
  readonly key: string;
  readonly at: Instant;
  readonly answer: Remembrance;
}
/** For how long a repeated key gets the same answer. */
export const KEYS_KEPT = hours(24);
export interface Remembrance {
  readonly run: RunNo;
  readonly task?: TaskNo;
  readonly fence?: number;
  /** The mark of the scheduler that gave the claim out: the token carries it. */
  readonly mark?: string;
}
/** The row, and the version it replaces: if another batch has replaced that version meanwhile, nothing of this batch is written. */
export interface TaskWrite {
  readonly row: TaskRow;
  readonly replaces: number;
}

/**
 * Refused, because another scheduler owns the store now. A batch that was being written at the very moment of the take-over may be in the
 * ledger all the same, before what the new owner writes.
 */
export type Lost = "ownership-lost";

export const REQUEST_KINDS = ["cancel", "requeue", "approve"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];
/** What a person asked for: durable, so that it holds whether or not a scheduler is running. */
export interface Request {
  readonly kind: RequestKind;
  readonly run: RunId;
  /** The whole run when absent. */
  readonly task?: TaskSpec["id"];
  readonly by: string;
  readonly why?: string;
  readonly at: Instant;
}
export interface PendingRequest extends Request {
  readonly no: number;
}

export interface EventQuery {
  readonly run?: RunNo;
  readonly task?: TaskNo;
  /** Only events after this position. */
  readonly after?: number;
  readonly limit?: number;
}

/** There may be many runs: a caller that knows which one it means says so. */
export type WhichRuns =
  | { readonly id: RunId }
  | { readonly no: RunNo }
  /** Runs whose id begins like this. */
  | { readonly begins: string }
  /** This many of the newest runs, or of the newest before this one. */
  | { readonly newest: number; readonly before?: RunNo }
  | "newest"
  | "unfinished";

export interface StoredRun {
  readonly row: RunRow;
  readonly specs: readonly TaskSpec[];
  readonly tasks: readonly TaskRow[];
}

export interface Store extends AsyncDisposable {
  /** Makes `owner` the owner, unless the owner on record still lives: then it gives that owner. */
  acquire(owner: Owner): Promise<Result<Term, OnRecord>>;
  /** The same term, for longer. Refused when another owner has the store, or could have had it. */
  renew(term: Term): Promise<Result<Term, Lost>>;
  /** Gives the store back; batches that were not committed are lost. */
  release(term: Pick<Term, "epoch">): Promise<void>;
  owner(): Promise<OnRecord | undefined>;
  /**
   * Whole or not at all. The next batch may be given before this one is answered: batches are written in the order in which they are given,
   * and after a batch that was not written the store writes no other of the same owner.
   */
  commit(batch: Batch): Promise<Result<void, Lost>>;
  /** Does maintenance that no caller waits for, if there is any. To be called when all callers have their answers. */
  maintain(): void;
  /** Every run, newest last; or the runs that `which` names. */
  runs(which?: WhichRuns): Promise<readonly RunRow[]>;
  /** A run with all its tasks. */
  load(run: RunNo): Promise<StoredRun | undefined>;
  events(query: EventQuery): Promise<readonly Event[]>;
  /** What earlier runs of the plan of this name have shown. */
  history(plan: string): Promise<History>;
  /** The position of the last event, 0 when there is none. */
  lastSeq(): Promise<number>;
  /** In the order of joining. */
  sessions(): Promise<readonly Session[]>;
  /** By the key of their scope. */
  pauses(): Promise<readonly Pause[]>;
  /** The answer that the key was given, if it was used. */
  recall(key: string): Promise<Remembrance | undefined>;
  /** Which of these idempotency keys are done. Of several tasks that have succeeded with one key, the first is given. */
  doneWith(keys: readonly string[]): Promise<readonly DoneKey[]>;
  /** Forgets the keys of requests that were used before `before`. */
  forget(before: Instant): Promise<void>;
  /**
   * Forgets runs that have ended, with their tasks and all their events; their durations stay. Gives the runs that were
   * forgotten. The newest run stays, so that no number is given twice, and so does a run that a caller's key still leads to. Refused
   * while the owner on record lives, which has these runs in memory.
   */
  prune(runs: readonly RunNo[]): Promise<Result<readonly RunNo[], OnRecord>>;
  /** The positions in the ledger of forgotten events, in order. They are not used again. */
  forgotten(): Promise<readonly Range[]>;
  /** This store's own secret, from which the tokens of leases follow; `fresh` when it has none yet. */
  secret(fresh: string): Promise<string>;
  request(request: Request): Promise<number>;
  requests(): Promise<readonly PendingRequest[]>;
  /** Whether something that was committed can no longer be read, as far as that shows without reading everything: a sentence that says what to do. */
  damage(): Promise<string | undefined>;
  /** What is wrong with the store itself, in sentences; empty when nothing is. */
  check(): Promise<readonly string[]>;
}

/** What a scheduler at work needs of the store. Taking ownership and forgetting runs are left to other parts. */
export type WorkingStore = Pick<
  Store,
  | "commit"
  | "maintain"
  | "load"
  | "runs"
  | "events"
  | "lastSeq"
  | "requests"
  | "history"
  | "sessions"
  | "pauses"
  | "recall"
  | "doneWith"
  | "secret"
>;

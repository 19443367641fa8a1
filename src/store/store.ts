/**
 * Where everything is kept. Verbs of the domain, not queries. Whatever a verb has answered survives any crash after the answer.
 * One scheduler at a time owns a store and writes through `commit`; anybody may read, and leave a request for the owner.
 */
import type { Event, RunSubmitted } from "../domain/event.ts";
import type { TaskNo } from "../domain/graph.ts";
import type { History, Lesson } from "../domain/history.ts";
import type { RunId, WorkerId } from "../domain/ids.ts";
import type { TaskRef } from "../domain/outcome.ts";
import type { Pause } from "../domain/pause.ts";
import type { RunNo } from "../domain/run.ts";
import type { Session } from "../domain/session.ts";
import type { Amounts, TaskSpec } from "../domain/spec.ts";
import type { ProcessIdentity } from "../domain/task.ts";
import { hours, type Instant } from "../domain/time.ts";
import type { Result } from "../std/result.ts";
import type { Range } from "../std/skips.ts";
import type { RunRow, TaskRow } from "./rows.ts";

/** The process that schedules for a store. */
export interface Owner {
  readonly process: ProcessIdentity;
  readonly host: string;
  readonly command: string;
  readonly since: Instant;
  /** What it schedules with, so that others can explain its choices. */
  readonly workers: number;
  readonly capacity: Amounts;
  /** How full its queue may be before less is done at once; never too full when absent. */
  readonly pressure?: { readonly depth: number; readonly thresholds: readonly [number, number, number] };
}

/** Grows with every change of owner, so that a scheduler that was taken for dead cannot write any more. */
export type Epoch = number;

/** The right to schedule for a store. */
export interface Term {
  readonly epoch: Epoch;
  /**
   * When it ends unless it is renewed before, by the clock that the store was given; the store itself may judge by another, and gives a
   * moment on the safe side. Without one it lasts for as long as the store sees the owner live.
   */
  readonly expires?: Instant;
}

/** The owner on record, and whether its term still holds. Only the store can tell that: it judges by its own clock, or by the processes there are. */
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
  /** Requests that this turn has dealt with. */
  readonly requestsDone: readonly number[];
  /** What finished runs have taught, by the name of their plan. */
  readonly lessons: readonly { readonly plan: string; readonly lessons: readonly Lesson[] }[];
  /** Tasks that a person changed, as they are now. */
  readonly edited: readonly SpecWrite[];
  /** Sessions as they are now; gone where there is none. */
  readonly sessions: readonly { readonly id: WorkerId; readonly session: Session | undefined }[];
  /** What is on hold now, by the key of its scope; no longer where there is none. */
  readonly pauses: readonly { readonly key: string; readonly pause: Pause | undefined }[];
  /** What callers' keys have led to. */
  readonly answers: readonly Remembered[];
  /** Idempotency keys with which tasks have succeeded. */
  readonly done: readonly DoneKey[];
}
/** A batch in which nothing has happened, to begin from. */
export const NOTHING: Omit<Batch, "epoch"> = {
  events: [],
  submitted: [],
  runs: [],
  tasks: [],
  requestsDone: [],
  lessons: [],
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
/** Which task has succeeded with an idempotency key, and what it gave. Kept when its run is forgotten: the key stays done. */
export interface DoneKey {
  readonly key: string;
  readonly by: TaskRef;
  readonly summary?: string;
}
/** The key of a request and what it led to: a run, or one claim of one of its tasks. */
export interface Remembered {
  readonly key: string;
  readonly at: Instant;
  readonly answer: Remembrance;
}
/** How long the same key gets the same answer. */
export const KEYS_KEPT = hours(24);
export interface Remembrance {
  readonly run: RunNo;
  readonly task?: TaskNo;
  readonly fence?: number;
  /** Of the scheduler that gave the claim out: its token carries it. */
  readonly mark?: string;
}
/** The row, and the version it replaces: if another has replaced it meanwhile, nothing of the batch is written. */
export interface TaskWrite {
  readonly row: TaskRow;
  readonly replaces: number;
}

/**
 * It counts for nothing, because another scheduler owns the store now. What was on its way at the very moment in which the store was taken over may
 * be in the ledger all the same, before what the new owner writes.
 */
export type Lost = "ownership-lost";

export const REQUEST_KINDS = ["cancel", "requeue", "approve"] as const;
export type RequestKind = (typeof REQUEST_KINDS)[number];
/** What a person asked for: durable, so that it holds whether or not a scheduler is there to hear it. */
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

/** All of them may be many: whoever knows which one is meant says so. */
export type WhichRuns =
  | { readonly id: RunId }
  | { readonly no: RunNo }
  /** Those whose id begins like this. */
  | { readonly begins: string }
  /** So many of the newest, or of the newest of those that came before this one. */
  | { readonly newest: number; readonly before?: RunNo }
  | "newest"
  | "unfinished";

export interface StoredRun {
  readonly row: RunRow;
  readonly specs: readonly TaskSpec[];
  readonly tasks: readonly TaskRow[];
}

export interface Store extends AsyncDisposable {
  /** Makes `owner` the owner, unless the one on record still lives: then it is told which one that is. */
  acquire(owner: Owner): Promise<Result<Term, OnRecord>>;
  /** The same term, for longer. Refused when another owner has the store, or could have had it. */
  renew(term: Term): Promise<Result<Term, Lost>>;
  /** Gives the store back; what was not committed is no owner's. */
  release(term: Pick<Term, "epoch">): Promise<void>;
  owner(): Promise<OnRecord | undefined>;
  /**
   * Whole or not at all. The next one may be given before this one is answered: they are written in the order in which they are given, and
   * after one that was not written no other of the same owner is.
   */
  commit(batch: Batch): Promise<Result<void, Lost>>;
  /** Does what nobody has to wait for, if there is any of it. To be called when everybody has been told what was committed. */
  tend(): void;
  /** Every run, newest last; or those that are asked for. */
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
  /** What the key has led to, if it was used. */
  recall(key: string): Promise<Remembrance | undefined>;
  /** Which of these idempotency keys are done. The first task that has succeeded with one is the one that is told. */
  doneWith(keys: readonly string[]): Promise<readonly DoneKey[]>;
  /** Forgets the keys of requests that were used before `before`. */
  forget(before: Instant): Promise<void>;
  /**
   * Forgets runs that have ended, with their tasks and everything the ledger says of them; what they have taught stays. Gives those that
   * are forgotten: the newest run stays, so that no number is given twice, and so does what a caller's key still leads to. Refused
   * while the owner on record lives, which knows of them.
   */
  prune(runs: readonly RunNo[]): Promise<Result<readonly RunNo[], OnRecord>>;
  /** The positions in the ledger of what was forgotten, in order. They are not used again. */
  forgotten(): Promise<readonly Range[]>;
  /** This store's own secret, from which the tokens of leases follow; `fresh` when it has none yet. */
  secret(fresh: string): Promise<string>;
  request(request: Request): Promise<number>;
  requests(): Promise<readonly PendingRequest[]>;
  /** Whether something that was committed can no longer be read, as far as can be told without reading everything: in a sentence that says what to do. */
  damage(): Promise<string | undefined>;
  /** What is wrong with the store itself, in sentences; empty when nothing is. */
  check(): Promise<readonly string[]>;
}

/** What of it a scheduler at work needs. Who owns the file, and what is to be forgotten, is for others to see to. */
export type WorkingStore = Pick<
  Store,
  | "commit"
  | "tend"
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

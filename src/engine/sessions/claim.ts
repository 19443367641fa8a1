/** A claim: what a session asks for, and the lease that it gets. */
import type { WorkerId } from "../../domain/ids.ts";
import type { Run } from "../../domain/run.ts";
import type { Priority } from "../../domain/spec.ts";
import type { Task } from "../../domain/task.ts";
import type { Instant, Millis } from "../../domain/time.ts";
import type { Remembrance } from "../../store/store.ts";

/** What a session asks for. */
export interface ClaimOrder {
  readonly session: WorkerId;
  /** Only tasks of this run. */
  readonly run?: Run;
  /** This task and no other. */
  readonly task?: Task;
  /** No task less urgent than this. */
  readonly priority?: Priority;
  /** The same key gives the same grant. */
  readonly key?: string;
  /** The answer that the key got before this scheduler began, if any. */
  readonly recalled?: Remembrance;
  /** The caller's name in the ledger. */
  readonly by?: string;
  /** How long to wait for it. */
  readonly until: Instant;
}

/** The right to work on a task and to report on it. */
export interface LeaseGrant {
  readonly run: Run;
  readonly task: Task;
  readonly fence: number;
  readonly token: string;
  readonly deadline: Instant;
  readonly ttl: Millis;
}

/** The key in the store: every session has its own keys, and another token with the same session id later does not know them. */
export const keyOf = (
  { id, owner }: { readonly id: WorkerId; readonly owner?: string | undefined },
  key: string,
): string => `claim/${encodeURIComponent(id)}${owner === undefined ? "" : `@${owner}`}/${key}`;

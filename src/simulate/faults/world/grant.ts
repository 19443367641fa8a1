/** The right to work on a task, as its holder knows it. */
import type { RunId, TaskId } from "../../../domain/ids.ts";
import type { Millis } from "../../../domain/time.ts";

export interface Grant {
  readonly run: RunId;
  readonly task: TaskId;
  readonly fence: number;
  readonly token: string;
  /** 0 when the lease is over already. */
  readonly ttl: Millis;
}

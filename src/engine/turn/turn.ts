/** One turn of the engine, as its parts see it. The effects of a turn happen when it is durable. */
import type { Instant } from "../../domain/time.ts";
import type { PendingBatch } from "./pending-batch.ts";

export interface Turn {
  readonly now: Instant;
  readonly pending: PendingBatch;
  /** Adds an action: starts or stops an attempt, gives a session its claim. In the order in which the turn decided. */
  after(act: () => void): void;
  /** Adds an answer to a caller: answers come after all actions. */
  answer(answer: () => void): void;
}

/** Something that came in, for the next turn. */
export type Input = (turn: Turn) => void;

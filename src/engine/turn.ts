/** One turn of the engine, as everything that rules in it sees it. What a turn leads to happens once it is durable. */
import type { Instant } from "../domain/time.ts";
import type { Journal } from "./journal.ts";

export interface Turn {
  readonly now: Instant;
  readonly journal: Journal;
  /** Does something: starts or stops an attempt, gives a session its claim. In the order in which the turn decided it. */
  after(act: () => void): void;
  /** Tells a caller what has become of its call: after all that was done. */
  answer(answer: () => void): void;
}

/** Something that came in, for the next turn to deal with. */
export type Input = (turn: Turn) => void;

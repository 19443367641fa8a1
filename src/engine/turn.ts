/** One turn of the engine, as everything that rules in it sees it. What a turn leads to happens once it is durable. */
import type { Instant } from "../domain/time.ts";
import type { Journal } from "./journal.ts";

/** An attempt that waits for its claim to be durable. */
export interface Startable {
  start(): void;
}

export interface Turn {
  readonly now: Instant;
  readonly journal: Journal;
  /** Starts an attempt: before everything else, because what is to be stopped again may be among them. */
  start(attempt: Startable): void;
  /** Does something else. */
  after(act: () => void): void;
  /** Tells a caller what has become of its call: after all that was done. */
  answer(answer: () => void): void;
}

/** Something that came in, for the next turn to deal with. */
export type Input = (turn: Turn) => void;

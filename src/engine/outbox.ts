/** What a turn leads to, kept back until it is durable: work that goes out, answers to those who asked, and whoever listens. */
import type { Event } from "../domain/event.ts";
import type { Clock } from "../effects/clock.ts";
import type { Startable } from "./turn.ts";

type Act = () => void;
type Listener = (events: readonly Event[]) => void;

export class Outbox {
  readonly #clock: Pick<Clock, "drained">;
  readonly #listeners = new Set<Listener>();
  #attempts: Startable[] = [];
  #acts: Act[] = [];
  #answers: Act[] = [];

  constructor(clock: Pick<Clock, "drained">) {
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#attempts.length + this.#acts.length + this.#answers.length === 0;
  }

  /** An attempt to start. By itself and not as something to do, because that would be an object more for every task. */
  start(attempt: Startable): void {
    this.#attempts.push(attempt);
  }

  /** Something to do. */
  act(act: Act): void {
    this.#acts.push(act);
  }

  /** Somebody to tell what has become of what they asked for. */
  answer(answer: Act): void {
    this.#answers.push(answer);
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Takes what there is so far, to be sent once its turn is durable. Work goes out before anybody is told of it: the telling takes as
   * long again. And who waits for work has it before who brought it hears. Attempts are started before anything else is done, because
   * one that is to be stopped again may be among them.
   */
  seal(): (events: readonly Event[] | undefined) => Promise<void> {
    const [attempts, acts, answers] = [this.#attempts, this.#acts, this.#answers];
    [this.#attempts, this.#acts, this.#answers] = [[], [], []];
    return async (events) => {
      for (const attempt of attempts) attempt.start();
      for (const act of acts) act();
      if (attempts.length + acts.length > 0) await this.#sent(answers.length > 0);
      for (const answer of answers) answer();
      if (events !== undefined) for (const listener of this.#listeners) listener(events);
    };
  }

  /** Kept when what was put together to be sent at once is on its way, and with `all` whatever else was begun. */
  #sent(all: boolean): Promise<void> {
    return all ? new Promise((resolve) => this.#clock.drained(resolve)) : Promise.resolve();
  }
}

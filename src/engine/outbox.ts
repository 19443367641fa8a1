/** What a turn leads to, kept back until it is durable: work that goes out, answers to those who asked, and whoever listens. */
import type { Event } from "../domain/event.ts";
import type { Clock } from "../effects/clock.ts";

type Act = () => void;
type Listener = (events: readonly Event[]) => void;

export class Outbox {
  readonly #clock: Pick<Clock, "soon">;
  readonly #listeners = new Set<Listener>();
  #acts: Act[] = [];
  #answers: Act[] = [];

  constructor(clock: Pick<Clock, "soon">) {
    this.#clock = clock;
  }

  get isEmpty(): boolean {
    return this.#acts.length + this.#answers.length === 0;
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
   * long again. And who waits for work has it before who brought it hears.
   */
  seal(): (events: readonly Event[] | undefined) => Promise<void> {
    const [acts, answers] = [this.#acts, this.#answers];
    [this.#acts, this.#answers] = [[], []];
    return async (events) => {
      for (const act of acts) act();
      if (acts.length > 0) await this.#sent(answers.length > 0);
      for (const answer of answers) answer();
      if (events !== undefined) for (const listener of this.#listeners) listener(events);
    };
  }

  /** Kept when what was put together to be sent at once is on its way, and with `all` whatever else was begun. */
  #sent(all: boolean): Promise<void> {
    return all ? new Promise((resolve) => this.#clock.soon(resolve)) : Promise.resolve();
  }
}

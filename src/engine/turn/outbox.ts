/** The effects of a turn, kept back until the turn is durable: actions, answers to callers, and events for listeners. */
import type { Event } from "../../domain/event.ts";

type Act = () => void;
type Listener = (events: readonly Event[]) => void;

export class Outbox {
  readonly #listeners = new Set<Listener>();
  #acts: Act[] = [];
  #answers: Act[] = [];

  get isEmpty(): boolean {
    return this.#acts.length + this.#answers.length === 0;
  }

  act(act: Act): void {
    this.#acts.push(act);
  }

  answer(answer: Act): void {
    this.#answers.push(answer);
  }

  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Takes the effects so far, to be run when their turn is durable. Actions come before answers. */
  seal(): (events: readonly Event[] | undefined) => void {
    const [acts, answers] = [this.#acts, this.#answers];
    [this.#acts, this.#answers] = [[], []];
    return (events) => {
      for (const act of acts) act();
      for (const answer of answers) answer();
      if (events !== undefined) for (const listener of this.#listeners) listener(events);
    };
  }
}

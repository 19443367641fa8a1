/** What earlier runs have shown, for plans that are run again and again: read from the store once, and kept up with what runs teach. */
import { afterLessons, type History, type Lesson } from "../domain/history.ts";
import type { Store } from "../store/store.ts";

/** Plans that are kept in memory, the latest, and how many tasks one may have to be among them. */
const PLANS_MAX = 16;
const TASKS_MAX = 5_000;

export class Histories {
  readonly #store: Pick<Store, "history">;
  readonly #known = new Map<string, History>();
  /** How often anything was learned, so that what was read before that is not kept. */
  #lessons = 0;

  constructor(store: Pick<Store, "history">) {
    this.#store = store;
  }

  /** At once where it is known. */
  of(plan: string): History | Promise<History> {
    return this.#known.get(plan) ?? this.#read(plan);
  }

  /** What is written down with this turn is known from now on. */
  learn(plan: string, lessons: readonly Lesson[]): void {
    this.#lessons++;
    const known = this.#known.get(plan);
    if (lessons.length > TASKS_MAX) this.#known.delete(plan);
    else if (known !== undefined) this.#keep(plan, afterLessons(known, lessons));
  }

  async #read(plan: string): Promise<History> {
    const before = this.#lessons;
    const history = await this.#store.history(plan);
    if (this.#lessons === before) this.#keep(plan, history);
    return history;
  }

  #keep(plan: string, history: History): void {
    this.#known.delete(plan);
    if (history.durations.size <= TASKS_MAX) this.#known.set(plan, history);
    if (this.#known.size > PLANS_MAX) this.#known.delete(this.#known.keys().next().value as string);
  }
}

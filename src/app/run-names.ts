/**
 * What runs are called: the plan's name made fit for file names, and something that makes it this run's alone. Of plans that are run again
 * and again the next name is found ahead, when nobody waits: looking whether it is taken is a good part of a submit.
 */
import { type RunId, runId } from "../domain/ids.ts";
import type { Clock } from "../effects/clock.ts";
import type { Secrets } from "../effects/random.ts";
import type { Store } from "../store/store.ts";

/** How much of a plan's name its runs are called by. */
const STEM_MAX = 40;
/** Suffixes that are tried before one is made longer. */
const TRIES_MAX = 8;
/** Plans for which a name is found ahead, the latest. */
const PLANS_MAX = 16;

export interface RunNamesDeps {
  readonly secrets: Pick<Secrets, "suffix">;
  readonly store: Pick<Store, "runs">;
  readonly clock: Pick<Clock, "atLeisure">;
}

export class RunNames {
  readonly #deps: RunNamesDeps;
  /** By the plan's name; nothing while it is being looked for. */
  readonly #ahead = new Map<string, RunId | undefined>();
  /** Those that no run has yet and that are taken all the same: found ahead, or given to somebody whose run is not there yet. */
  readonly #promised = new Set<RunId>();

  constructor(deps: RunNamesDeps) {
    this.#deps = deps;
  }

  /** A name that no run has, and that nobody else is given until it is said to be `settled`. */
  async take(plan: string): Promise<RunId> {
    const found = this.#ahead.get(plan);
    if (found === undefined) return this.#find(stemOf(plan));
    this.#ahead.delete(plan);
    return found;
  }

  /** The run is there, so that the store knows of its name; or there will be none. */
  settled(id: RunId): void {
    this.#promised.delete(id);
  }

  /** There may be another run of the plan. To be called when everybody concerned with this one was told. */
  expect(plan: string): void {
    this.#deps.clock.atLeisure(() => void this.#lookAhead(plan));
  }

  async #lookAhead(plan: string): Promise<void> {
    if (this.#ahead.has(plan)) return;
    this.#ahead.set(plan, undefined);
    // What cannot be looked up now is looked up when it is needed, and what is wrong is said then.
    const found = await this.#find(stemOf(plan)).catch(() => undefined);
    if (found === undefined) this.#ahead.delete(plan);
    else this.#ahead.set(plan, found);
    for (const [oldest] of this.#ahead) {
      if (this.#ahead.size <= PLANS_MAX) return;
      this.#forget(oldest);
    }
  }

  #forget(plan: string): void {
    const id = this.#ahead.get(plan);
    this.#ahead.delete(plan);
    if (id !== undefined) this.#promised.delete(id);
  }

  /** Short enough to be typed, so of some thousands of runs of a plan two would have the same. */
  async #find(stem: string): Promise<RunId> {
    const { secrets, store } = this.#deps;
    for (let tries = 1; ; tries++) {
      const suffix = secrets.suffix();
      const id = runId(tries <= TRIES_MAX ? `${stem}-${suffix}` : `${stem}-${suffix}-${tries}`);
      // Looked at once more afterwards: somebody else may have found the same meanwhile.
      if (this.#promised.has(id) || (await store.runs({ id })).length > 0 || this.#promised.has(id)) continue;
      this.#promised.add(id);
      return id;
    }
  }
}

function stemOf(plan: string): string {
  const slug = plan.replaceAll(/[^A-Za-z0-9_]+/g, "-").replaceAll(/^-+|-+$/g, "");
  return slug.slice(0, STEM_MAX) || "run";
}

/** What runs are called: the plan's name made fit for file names, and something that makes it this run's alone. */
import { type RunId, runId } from "../domain/ids.ts";
import type { Secrets } from "../effects/random.ts";
import type { Store } from "../store/store.ts";

/** How much of a plan's name its runs are called by. */
const STEM_MAX = 40;
/** Suffixes that are tried before one is made longer. */
const TRIES_MAX = 8;

export interface RunNamesDeps {
  readonly secrets: Pick<Secrets, "suffix">;
  readonly store: Pick<Store, "runs">;
}

export class RunNames {
  readonly #deps: RunNamesDeps;
  /** Given to a caller whose run is not in the store yet. */
  readonly #promised = new Set<RunId>();

  constructor(deps: RunNamesDeps) {
    this.#deps = deps;
  }

  /** A name that no run has, and that no other caller is given until it is said to be `settled`. */
  async take(plan: string): Promise<RunId> {
    const { secrets, store } = this.#deps;
    const stem = stemOf(plan);
    for (let tries = 1; ; tries++) {
      // Short enough to be typed, so of some thousands of runs of a plan two would have the same.
      const suffix = secrets.suffix();
      const id = runId(tries <= TRIES_MAX ? `${stem}-${suffix}` : `${stem}-${suffix}-${tries}`);
      // Looked at once more afterwards: another caller may have found the same meanwhile.
      if (this.#promised.has(id) || (await store.runs({ id })).length > 0 || this.#promised.has(id)) continue;
      this.#promised.add(id);
      return id;
    }
  }

  /** The run is there, so that the store knows of its name; or there will be none. */
  settled(id: RunId): void {
    this.#promised.delete(id);
  }
}

function stemOf(plan: string): string {
  const slug = plan.replaceAll(/[^A-Za-z0-9_]+/g, "-").replaceAll(/^-+|-+$/g, "");
  return slug.slice(0, STEM_MAX) || "run";
}

/** The ids of runs: the plan's name made fit for file names, and a suffix that makes it unique. */
import { type RunId, runId } from "../../domain/ids.ts";
import type { Secrets } from "../../effects/random.ts";
import type { Store } from "../../store/store.ts";

/** How much of a plan's name goes into the id. */
const STEM_MAX = 40;
/** How many suffixes are tried before a longer one is made. */
const TRIES_MAX = 8;

export interface RunNamesDeps {
  readonly secrets: Pick<Secrets, "suffix">;
  readonly store: Pick<Store, "runs">;
}

export class RunNames {
  readonly #deps: RunNamesDeps;
  /** Ids that were given to a caller whose run is not in the store yet. */
  readonly #promised = new Set<RunId>();

  constructor(deps: RunNamesDeps) {
    this.#deps = deps;
  }

  /** An id that no run has, and that no other caller gets until it is `settled`. */
  async take(plan: string): Promise<RunId> {
    const { secrets, store } = this.#deps;
    const stem = stemOf(plan);
    for (let tries = 1; ; tries++) {
      // Short enough to be typed, so among some thousands of runs of a plan two would get the same.
      const suffix = secrets.suffix();
      const id = runId(tries <= TRIES_MAX ? `${stem}-${suffix}` : `${stem}-${suffix}-${tries}`);
      // Checked again afterwards: another caller may have got the same id meanwhile.
      if (this.#promised.has(id) || (await store.runs({ id })).length > 0 || this.#promised.has(id)) continue;
      this.#promised.add(id);
      return id;
    }
  }

  /** The run is in the store, so its id is known there; or there will be no run. */
  settled(id: RunId): void {
    this.#promised.delete(id);
  }
}

function stemOf(plan: string): string {
  const slug = plan.replaceAll(/[^A-Za-z0-9_]+/g, "-").replaceAll(/^-+|-+$/g, "");
  return slug.slice(0, STEM_MAX) || "run";
}

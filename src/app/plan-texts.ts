/** Plans that are submitted again and again as they are, as they were read the first time: reading one is a good part of a submit. */
import { hash } from "node:crypto";
import type { Plan } from "../plan/plan.ts";
import { readPlan } from "./plan-file.ts";

/** So many are kept, the latest, and none that is longer than this. */
const TEXTS_MAX = 16;
const CHARACTERS_MAX = 16 * 1024;

export interface ReadPlan {
  readonly plan: Plan;
  /** Of the text, to notice that it was changed. */
  readonly digest: string;
}

export class PlanTexts {
  readonly #known = new Map<string, ReadPlan>();

  /** At once where it is known. `name` is what messages call it. */
  read(text: string, name: string): ReadPlan | Promise<ReadPlan> {
    return this.#known.get(text) ?? this.#read(text, name);
  }

  async #read(text: string, name: string): Promise<ReadPlan> {
    const read = { plan: await readPlan(text, name), digest: hash("sha256", text) };
    if (text.length <= CHARACTERS_MAX) this.#known.set(text, read);
    if (this.#known.size > TEXTS_MAX) this.#known.delete(this.#known.keys().next().value as string);
    return read;
  }
}

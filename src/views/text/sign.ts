/** One sign and one tone for each state, the same in every view. */
import type { TaskState } from "../../domain/task.ts";
import { type Line, type Tone, type Toned, toned } from "./line.ts";

export const STATE_SIGNS: Readonly<Record<TaskState, Toned>> = {
  blocked: toned("quiet", "◌"),
  ready: toned("quiet", "○"),
  claimed: toned("busy", "●"),
  running: toned("busy", "●"),
  verifying: toned("busy", "◐"),
  succeeded: toned("good", "✔"),
  failed: toned("bad", "✖"),
  cancelled: toned("warn", "⊘"),
  skipped: toned("quiet", "⊘"),
  parked: toned("warn", "‖"),
};
export const RETRY_SIGN = toned("warn", "↻");

export type Counts = Readonly<Record<TaskState, number>>;

/** The words for the counts of a run: states that mean the same to a reader share a word, and empty ones are left out. */
const WORDS: readonly { readonly word: string; readonly states: readonly TaskState[]; readonly tone?: Tone }[] = [
  { word: "done", states: ["succeeded"], tone: "good" },
  { word: "failed", states: ["failed"], tone: "bad" },
  { word: "running", states: ["claimed", "running"], tone: "busy" },
  { word: "verifying", states: ["verifying"], tone: "busy" },
  { word: "parked", states: ["parked"], tone: "warn" },
  { word: "ready", states: ["ready"] },
  { word: "blocked", states: ["blocked"] },
  { word: "skipped", states: ["skipped"] },
  { word: "cancelled", states: ["cancelled"], tone: "warn" },
];

/** `18 done · 1 failed · 4 running · 16 blocked`. */
export function countsLine(counts: Counts): Line {
  return WORDS.flatMap(({ word, states, tone }) => {
    const count = states.reduce((sum, state) => sum + counts[state], 0);
    if (count === 0) return [];
    const text = `${count} ${word}`;
    return [" · ", tone === undefined ? text : toned(tone, text)];
  }).slice(1);
}

/** The parts of a bar, in the order in which they are drawn. Each has a shape of its own, so that the bar can be read without colour. */
const STRETCHES: readonly { readonly sign: string; readonly states: readonly TaskState[]; readonly tone: Tone }[] = [
  { sign: "━", states: ["succeeded"], tone: "good" },
  { sign: "╳", states: ["failed"], tone: "bad" },
  { sign: "╌", states: ["skipped", "cancelled"], tone: "quiet" },
  { sign: "╍", states: ["claimed", "running", "verifying"], tone: "busy" },
  { sign: "─", states: ["blocked", "ready", "parked"], tone: "quiet" },
];

/** A bar of exactly `width` columns. Every count above zero gets at least one column. */
export function progressBar(counts: Counts, width: number): Line {
  const amounts = STRETCHES.map(({ states }) => states.reduce((sum, state) => sum + counts[state], 0));
  const sizes = shareOut(amounts, width);
  return STRETCHES.flatMap(({ sign, tone }, at) => {
    const size = sizes[at] as number;
    return size === 0 ? [] : [toned(tone, sign.repeat(size))];
  });
}

/** Whole columns in proportion to the amounts, by largest remainder, at least one for each amount above zero. */
function shareOut(amounts: readonly number[], width: number): readonly number[] {
  const total = amounts.reduce((sum, amount) => sum + amount, 0);
  if (total === 0) return amounts.map((_, at) => (at === amounts.length - 1 ? width : 0));
  const exact = amounts.map((amount) => (amount * width) / total);
  const sizes = exact.map((size, at) => (amounts[at] === 0 ? 0 : Math.max(1, Math.floor(size))));
  const gap = (at: number): number => (exact[at] as number) - (sizes[at] as number);
  for (let left = width - sizes.reduce((sum, size) => sum + size, 0); left !== 0; left -= Math.sign(left)) {
    const step = Math.sign(left);
    const candidates = [...sizes.keys()].filter((at) => amounts[at] !== 0 && (step > 0 || (sizes[at] as number) > 1));
    const [best] = candidates.sort((a, b) => step * (gap(b) - gap(a)));
    if (best === undefined) break;
    sizes[best] = (sizes[best] as number) + step;
  }
  return sizes;
}

/** Sums of what was used, in which unknown stays unknown. */
import type { Counted } from "./vocabulary.ts";

const FIGURES = ["input", "cached", "output", "cost", "turns"] as const;
type Maybe = { readonly [Figure in keyof Counted]: Counted[Figure] | undefined };

/** Only the figures that are known. */
export function known(figures: Maybe): Counted {
  const kept: { -readonly [Figure in keyof Counted]: Counted[Figure] } = {};
  for (const name of FIGURES) if (figures[name] !== undefined) kept[name] = figures[name];
  return kept;
}

/** A figure that only one of them knows is that one's. */
export const added = (one: Counted, other: Counted): Counted => combined(one, other, (a, b) => a + b);

/** What came since `before`, never less than nothing: a program that starts to count anew has counted this much. */
export const since = (total: Counted, before: Counted | undefined): Counted =>
  before === undefined ? total : combined(total, before, (a, b) => (a >= b ? a - b : a), "first");

function combined(
  one: Counted,
  other: Counted,
  both: (a: number, b: number) => number,
  alone: "either" | "first" = "either",
): Counted {
  const figure = (name: (typeof FIGURES)[number]): number | undefined => {
    const [a, b] = [one[name], other[name]];
    if (a === undefined || b === undefined) return alone === "first" ? a : (a ?? b);
    return both(a, b);
  };
  return known(Object.fromEntries(FIGURES.map((name) => [name, figure(name)])));
}

/**
 * Of a key that is written twice only the last has a value, so mistakes inside the others are not found. To find them, the plan is read
 * again, with other names for all later ones. Only a plan with such keys pays for it.
 */

import { type Position, positionsIn } from "../read/places.ts";
import type { Duplicate } from "../read/source.ts";
import type { Diagnostic } from "./diagnostics.ts";

/** More readings would take too long, and so would a longer plan. */
const READINGS_MAX = 8;
const LENGTH_MAX = 2 ** 18;

/** The diagnostics, with those that the repeated keys hide, in the order of the file. */
export async function withHidden(
  found: readonly Diagnostic[],
  text: string,
  duplicates: readonly Duplicate[],
  diagnosticsOf: (text: string) => Promise<readonly Diagnostic[]>,
): Promise<readonly Diagnostic[]> {
  if (duplicates.length === 0 || text.length > LENGTH_MAX) return found;
  const all = new Map(found.map((each) => [keyOf(each), each]));
  const positionOf = positionsIn(text);
  const name = unusedIn(text);
  for (const { from, to, later } of hiddenSpans(duplicates).slice(0, READINGS_MAX)) {
    const [begin, end] = [positionOf(from), positionOf(to)];
    for (const each of await diagnosticsOf(renamed(text, later, name))) {
      const isInside = !isBefore(each, begin) && isBefore(each, end);
      if (isInside && !each.message.includes(name)) all.set(keyOf(each), each);
    }
  }
  // The finding that says how many more there are comes last.
  return [...all.values()].sort((a, b) => Number(isMore(a)) - Number(isMore(b)) || compare(a, b));
}

interface HiddenSpan {
  readonly from: number;
  readonly to: number;
  /** Where the same key stands again. */
  readonly later: readonly number[];
}

/** The span of each key that another one repeats, up to the repetition. */
function hiddenSpans(duplicates: readonly Duplicate[]): readonly HiddenSpan[] {
  const keys = Map.groupBy(duplicates, ({ first }) => first);
  return [...keys].flatMap(([first, others]) => {
    const places = [first, ...others.map(({ offset }) => offset)];
    return places.slice(0, -1).map((from, at) => ({ from, to: places[at + 1] as number, later: places.slice(at + 1) }));
  });
}

/** Renames the key at these places; text before the first of them stays where it is. */
function renamed(text: string, places: readonly number[], name: string): string {
  let [result, at] = ["", 0];
  for (const place of places) {
    const inside = /["']/.test(text.charAt(place)) ? place + 1 : place;
    result += `${text.slice(at, inside)}${name}${result.length}`;
    at = inside;
  }
  return result + text.slice(at);
}

/** A name that no diagnostic contains, unless it is about that name. */
function unusedIn(text: string): string {
  let name = "xq";
  while (text.includes(name)) name += "q";
  return name;
}

const keyOf = ({ line, column, code, message }: Diagnostic): string => `${line}:${column} ${code} ${message}`;
const compare = (a: Position, b: Position): number => a.line - b.line || a.column - b.column;
const isBefore = (a: Position, b: Position): boolean => compare(a, b) < 0;
const isMore = ({ code }: Diagnostic): boolean => code === "PLAN_MORE";

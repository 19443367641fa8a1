/**
 * Rows on their way to another thread. Sent as they are, every value would be copied by itself, which takes as long as writing them (0.2
 * microseconds a value, measured). So numbers go as one array and texts as a few strings.
 */

import type { Value } from "../sums/sums.ts";
import type { Rows } from "../writing/sheet.ts";

export interface Packed {
  /** How many values each part has. */
  readonly counts: Rows<number>;
  /** A whole number as itself, null as NaN, and a text as its length and a half: so the three can be told apart. */
  readonly numbers: Float64Array<ArrayBuffer>;
  /** All texts, one after the other, in pieces: the texts of a very large plan would not fit into one string. */
  readonly texts: readonly string[];
}

/** The length at which a piece is ended. */
const PIECE = 2 ** 24;

/** All numbers among the values must be whole. */
export function pack(rows: Rows, pieceMin = PIECE): Packed {
  const counts = eachOf(rows, ({ length }) => length);
  const { newRuns, specs, freshTasks, changedTasks, pages } = counts;
  const numbers = new Float64Array(newRuns + specs + freshTasks + changedTasks + pages);
  const texts: string[] = [];
  let piece: string[] = [];
  let length = 0;
  let to = 0;
  eachOf(rows, (values) => {
    // By index: an iterator would make an object for each value, as many as all values together.
    for (let at = 0; at < values.length; at++) {
      const value = values[at] as Value;
      numbers[to++] = typeof value === "number" ? value : value === null ? Number.NaN : value.length + 0.5;
      if (typeof value !== "string") continue;
      piece.push(value);
      length += value.length;
      if (length < pieceMin) continue;
      texts.push(piece.join(""));
      [piece, length] = [[], 0];
    }
  });
  texts.push(piece.join(""));
  return { counts, numbers, texts };
}

export function unpack({ counts, numbers, texts }: Packed): Rows {
  let from = 0;
  let piece = 0;
  let textFrom = 0;
  return eachOf(counts, (count) => {
    const values: Value[] = [];
    for (const end = from + count; from < end; from++) {
      const number = numbers[from] as number;
      if (Number.isInteger(number)) values.push(number);
      else if (Number.isNaN(number)) values.push(null);
      else {
        // A text is never split over two pieces.
        if (textFrom === texts[piece]?.length) [piece, textFrom] = [Math.min(piece + 1, texts.length - 1), 0];
        const start = textFrom;
        textFrom += Math.floor(number);
        values.push((texts[piece] as string).slice(start, textFrom));
      }
    }
    return values;
  });
}

/** In a fixed order. */
const eachOf = <T, U>({ newRuns, specs, freshTasks, changedTasks, pages }: Rows<T>, map: (part: T) => U): Rows<U> => ({
  newRuns: map(newRuns),
  specs: map(specs),
  freshTasks: map(freshTasks),
  changedTasks: map(changedTasks),
  pages: map(pages),
});

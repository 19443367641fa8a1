/** Counting with numbers left out. */

/** From the first to the last, both included. */
export interface Range {
  readonly first: number;
  readonly last: number;
}

/** Gives the next number that lies in none of the ranges. The caller asks about ever larger numbers. */
export class Skips {
  readonly #ranges: readonly Range[];
  #at = 0;

  /** In order, and no two of them touch. */
  constructor(ranges: readonly Range[]) {
    this.#ranges = ranges;
  }

  after(number: number): number {
    const next = number + 1;
    while ((this.#ranges[this.#at]?.last ?? Number.POSITIVE_INFINITY) < next) this.#at++;
    const range = this.#ranges[this.#at];
    return range !== undefined && range.first <= next ? range.last + 1 : next;
  }
}

/** Ranges that come in order, as the fewest there can be. */
export function* joined(ranges: Iterable<Range>): Generator<Range> {
  let open: { first: number; last: number } | undefined;
  for (const { first, last } of ranges) {
    if (open !== undefined && first === open.last + 1) open.last = last;
    else {
      if (open !== undefined) yield open;
      open = { first, last };
    }
  }
  if (open !== undefined) yield open;
}

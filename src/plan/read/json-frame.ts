/** What the JSON scanner knows of one list or map that it is inside of. */
import type { Place } from "./places.ts";

/** Up to here keys are compared one by one, in place; above, a table of them is cheaper. */
const COMPARED_MAX = 16;

export class Frame {
  isMap = false;
  /** Whether keys are only counted. With a million keys it is cheaper to compare them after parsing. */
  isCounted = false;
  hasNumberKey = false;
  place: Place | undefined;
  count = 0;
  /** Where the keys stand, quotes included, as pairs of start and end. */
  readonly #spans: number[] = [];
  #seen: Map<string, number> | undefined;
  #last: string | undefined;

  open(isMap: boolean, isCounted: boolean, place: Place | undefined): void {
    this.isMap = isMap;
    this.isCounted = isCounted;
    this.hasNumberKey = false;
    this.place = place;
    this.count = 0;
    this.#spans.length = 0;
    this.#seen = undefined;
    this.#last = undefined;
  }

  /** Takes note of a key, quotes included. Gives the offset of the same key when it was there before. */
  add(text: string, start: number, end: number, hasEscape: boolean): number | undefined {
    this.count++;
    const first = text.charCodeAt(start + 1);
    // An escape may hide a digit.
    if ((first >= 0x30 && first <= 0x39) || first === 0x5c) this.hasNumberKey = true;
    this.#last = undefined;
    if (this.isCounted) {
      this.#spans[0] = start;
      this.#spans[1] = end;
      return undefined;
    }
    if (this.#seen === undefined && (hasEscape || this.count > COMPARED_MAX)) this.#seen = this.#table(text);
    if (this.#seen !== undefined) return this.#addToTable(text, start, end);
    const found = this.#find(text, start, end);
    this.#spans.push(start, end);
    return found;
  }

  /** The key that was added last. */
  lastKey(text: string): string {
    this.#last ??= unquote(text, this.#spans.at(-2) ?? 0, this.#spans.at(-1) ?? 0);
    return this.#last;
  }

  keyIs(text: string, key: string): boolean {
    return this.isMap && this.lastKey(text) === key;
  }

  /** The keys in the order they were added, without those that came twice. */
  keys(text: string): readonly string[] {
    return [...(this.#seen ?? this.#table(text)).keys()];
  }

  #addToTable(text: string, start: number, end: number): number | undefined {
    const key = unquote(text, start, end);
    this.#last = key;
    const found = this.#seen?.get(key);
    if (found === undefined) this.#seen?.set(key, start);
    return found;
  }

  #table(text: string): Map<string, number> {
    const table = new Map<string, number>();
    for (let at = 0; at < this.#spans.length; at += 2) {
      const start = this.#spans[at] as number;
      const key = unquote(text, start, this.#spans[at + 1] as number);
      if (!table.has(key)) table.set(key, start);
    }
    return table;
  }

  #find(text: string, start: number, end: number): number | undefined {
    const length = end - start;
    for (let at = 0; at < this.#spans.length; at += 2) {
      const other = this.#spans[at] as number;
      if ((this.#spans[at + 1] as number) - other === length && isSame(text, other, start, length)) return other;
    }
    return undefined;
  }
}

function isSame(text: string, a: number, b: number, length: number): boolean {
  for (let at = 1; at < length; at++) {
    if (text.charCodeAt(a + at) !== text.charCodeAt(b + at)) return false;
  }
  return true;
}

function unquote(text: string, start: number, end: number): string {
  const inner = text.slice(start + 1, end - 1);
  return inner.includes("\\") ? (JSON.parse(text.slice(start, end)) as string) : inner;
}

/** An item that knows its place in the heap, so that it can be moved or taken out without a search. */
export interface Placed {
  /** Its index, or -1 while it is in no heap. Only the heap writes this. */
  place: number;
}

/** A binary heap: the item that `before` puts first comes out first. */
export class Heap<T extends Placed> {
  readonly #items: T[] = [];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#items.length;
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  /** Every item, in no particular order. */
  values(): readonly T[] {
    return this.#items;
  }

  /** Every item, the first one first. Items that the caller does not read cost nothing. The heap must not change meanwhile. */
  *ascending(): Iterable<T> {
    const items = this.#items;
    // The next item is always a child of an item that was already yielded.
    const edge = new Heap<Placed & { readonly at: number }>((a, b) => this.#before(items[a.at] as T, items[b.at] as T));
    if (items.length > 0) edge.push({ place: -1, at: 0 });
    for (let next = edge.pop(); next !== undefined; next = edge.pop()) {
      yield items[next.at] as T;
      for (const at of [2 * next.at + 1, 2 * next.at + 2]) if (at < items.length) edge.push({ place: -1, at });
    }
  }

  push(item: T): void {
    this.#items.push(item);
    this.#rise(item, this.#items.length - 1);
  }

  pop(): T | undefined {
    const first = this.#items[0];
    if (first !== undefined) this.remove(first);
    return first;
  }

  remove(item: T): void {
    const { place } = item;
    if (place < 0) return;
    item.place = -1;
    const last = this.#items.pop() as T;
    if (last === item) return;
    // The item comes from the very end of the heap and mostly belongs near the bottom again. So the free place moves down first, with one comparison on each level.
    this.#rise(last, this.#clear(place));
  }

  /** Puts an item whose order has changed where it belongs now. */
  update(item: T): void {
    this.#rise(item, item.place);
    this.#sink(item, item.place);
  }

  /** Moves the better of two children up by one on each level, and gives the place that is free then. */
  #clear(from: number): number {
    const items = this.#items;
    const size = items.length;
    let hole = from;
    for (let child = 2 * hole + 1; child < size; child = 2 * hole + 1) {
      if (child + 1 < size && this.#before(items[child + 1] as T, items[child] as T)) child++;
      const below = items[child] as T;
      items[hole] = below;
      below.place = hole;
      hole = child;
    }
    return hole;
  }

  #rise(item: T, from: number): void {
    const items = this.#items;
    let hole = from;
    while (hole > 0) {
      const parent = items[(hole - 1) >> 1] as T;
      if (!this.#before(item, parent)) break;
      items[hole] = parent;
      parent.place = hole;
      hole = (hole - 1) >> 1;
    }
    items[hole] = item;
    item.place = hole;
  }

  #sink(item: T, from: number): void {
    const items = this.#items;
    const size = items.length;
    let hole = from;
    for (;;) {
      let child = 2 * hole + 1;
      if (child >= size) break;
      if (child + 1 < size && this.#before(items[child + 1] as T, items[child] as T)) child++;
      const below = items[child] as T;
      if (!this.#before(below, item)) break;
      items[hole] = below;
      below.place = hole;
      hole = child;
    }
    items[hole] = item;
    item.place = hole;
  }
}

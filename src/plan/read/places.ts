/** From paths and offsets to lines and columns. Only plans with something wrong pay for it: one pass finds all places. */
import type { Blame, Path, PathPart } from "../../std/problems.ts";

/** A node of the tree of paths that are looked for. A source fills in the offsets of those it meets. */
export class Place {
  readonly #children = new Map<PathPart, Place>();
  /** Where the key stands; for an item of a list, where the item does. */
  key: number | undefined;
  value: number | undefined;

  /** The place below this one, if a finding asked for it. */
  child(part: PathPart): Place | undefined {
    return this.#children.get(part);
  }

  want(path: Path): void {
    path.reduce<Place>((place, part) => place.#childOrNew(part), this);
  }

  /** Of a key that is written twice the last one counts, with everything in it. */
  found(key: number, value: number): void {
    if (this.key !== undefined) this.#forget();
    this.key = key;
    this.value = value;
  }

  #forget(): void {
    [this.key, this.value] = [undefined, undefined];
    for (const child of this.#children.values()) if (child.key !== undefined) child.#forget();
  }

  #childOrNew(part: PathPart): Place {
    const found = this.#children.get(part);
    if (found !== undefined) return found;
    const made = new Place();
    this.#children.set(part, made);
    return made;
  }
}

/** The offset for a path, or of the nearest place above it that the text has: what came from defaults has no place of its own. */
export function offsetOf(root: Place, path: Path, at: Blame): number {
  let place = root;
  let offset = root.value ?? 0;
  for (const [depth, part] of path.entries()) {
    const next = place.child(part);
    if (next?.key === undefined || next.value === undefined) return offset;
    const isLast = depth === path.length - 1;
    offset = isLast && at === "value" ? next.value : next.key;
    place = next;
  }
  return offset;
}

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Turns offsets into positions. */
export function positionsIn(text: string): (offset: number) => Position {
  const starts = [0];
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) starts.push(at + 1);
  return (offset) => {
    const line = lastAtOrBefore(starts, offset);
    return { line: line + 1, column: offset - (starts[line] as number) + 1 };
  };
}

function lastAtOrBefore(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((starts[middle] as number) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

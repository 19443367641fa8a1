/** The graphs that queues with dependencies are asked for; the drivers of the peers make the same ones. */

/** Which tasks each of `count` needs, in groups of `size`: a chain, all of the group before its last, or two of the group before. */
export function needsOf(shape: string, count: number, size: number): readonly (readonly number[])[] {
  return Array.from({ length: count }, (_, no) => {
    const place = no % size;
    if (shape === "chains") return place === 0 ? [] : [no - 1];
    if (shape === "fans")
      return place < size - 1 ? [] : Array.from({ length: size - 1 }, (_, each) => no - size + 1 + each);
    if (shape === "layers") return no < size ? [] : [no - size, no - place - size + ((place + 1) % size)];
    return [];
  });
}

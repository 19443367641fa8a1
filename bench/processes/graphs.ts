/** The graphs of `true` that every contender is given. */

export interface Node {
  readonly id: string;
  readonly needs: readonly string[];
}

/** In an order in which everything comes after what it needs. */
export type Graph = readonly Node[];

export const independent = (count: number): Graph =>
  Array.from({ length: count }, (_, no) => ({ id: `t${no}`, needs: [] }));

export const chain = (count: number): Graph =>
  Array.from({ length: count }, (_, no) => ({ id: `t${no}`, needs: no === 0 ? [] : [`t${no - 1}`] }));

/** Each task needs two of the layer before: the one above it and that one's neighbour. */
export const layered = (layers: number, width: number): Graph =>
  Array.from({ length: layers * width }, (_, no) => {
    const [layer, place] = [Math.floor(no / width), no % width];
    const above = (offset: number): string => `t${(layer - 1) * width + ((place + offset) % width)}`;
    return { id: `t${no}`, needs: layer === 0 ? [] : [above(0), above(1)] };
  });

/** What nothing needs: the ends a program is asked for. */
export function ends(graph: Graph): readonly string[] {
  const needed = new Set(graph.flatMap((node) => node.needs));
  return graph.map((node) => node.id).filter((id) => !needed.has(id));
}

/** How long the longest path from each task to the end is: those with the most still before them go first. */
import type { Graph } from "../domain/graph.ts";
import { taskNo } from "../domain/graph.ts";

/** Ranks by task number, in the unit of the estimates; in hops when there is none. */
export function upwardRanks(graph: Graph, costs: Float64Array): Float64Array {
  const ranks = new Float64Array(graph.size);
  const open = new Int32Array(graph.size);
  const queue = new Int32Array(graph.size);
  let tail = 0;
  for (let no = 0; no < graph.size; no++) {
    let dependents = 0;
    graph.eachDependent(taskNo(no), () => dependents++);
    open[no] = dependents;
    if (dependents === 0) queue[tail++] = no;
  }
  // From the ends towards the beginning: when a task is taken, everything behind it has its rank.
  for (let head = 0; head < tail; head++) {
    const no = queue[head] as number;
    const rank = (ranks[no] as number) + (costs[no] as number);
    ranks[no] = rank;
    graph.eachNeed(taskNo(no), (need) => {
      if (rank > (ranks[need] as number)) ranks[need] = rank;
      open[need] = (open[need] as number) - 1;
      if (open[need] === 0) queue[tail++] = need;
    });
  }
  return ranks;
}

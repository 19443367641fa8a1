/** How long the longest path from each task to the end is: tasks with the longest path go first. */
import type { Graph, TaskNo } from "../../domain/graph.ts";
import { taskNo } from "../../domain/graph.ts";

/** Ranks by task number, in the unit of the estimates; in hops when there is none. */
export function upwardRanks(graph: Graph, costs: Float64Array): Float64Array {
  if (graph.edges === 0) return costs.slice();
  const ranks = new Float64Array(graph.size);
  let rank = 0;
  const lengthen = (need: TaskNo): void => {
    if (rank > (ranks[need] as number)) ranks[need] = rank;
  };
  // When a task is taken, everything behind it has its rank.
  for (const no of endsFirst(graph)) {
    rank = (ranks[no] as number) + (costs[no] as number);
    ranks[no] = rank;
    graph.eachNeed(taskNo(no), lengthen);
  }
  return ranks;
}

/** All tasks, from the ends towards the beginning: each after everything that waits for it. */
export function endsFirst(graph: Graph): Int32Array {
  const open = new Int32Array(graph.size);
  const queue = new Int32Array(graph.size);
  let tail = 0;
  for (let no = 0; no < graph.size; no++) {
    open[no] = graph.dependentCount(taskNo(no));
    if (open[no] === 0) queue[tail++] = no;
  }
  const close = (need: TaskNo): void => {
    open[need] = (open[need] as number) - 1;
    if (open[need] === 0) queue[tail++] = need;
  };
  for (let head = 0; head < tail; head++) graph.eachNeed(taskNo(queue[head] as number), close);
  return queue.subarray(0, tail);
}

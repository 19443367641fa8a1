/**
 * The order a run begins with. The longest remaining path first is a good order, but a path knows nothing of how few tasks can run
 * at once. So the run is played through in that order, and then backwards from its end, with the task that ended last first. How long before
 * the end a task begins in that play is its rank: the work left after it, with the limits of room. A run is played as if it had the machine
 * to itself, and from its beginning, so that it has the same order whenever a scheduler takes it up again.
 */
import { type Graph, type TaskNo, taskNo } from "../../domain/graph.ts";
import type { Run } from "../../domain/run.ts";
import type { Resource } from "../room/room.ts";
import type { Shapes } from "../room/shapes.ts";
import type { Site } from "../room/site.ts";
import { type Demands, demandsOf } from "./demands.ts";
import type { Estimates } from "./estimates.ts";
import { upwardRanks } from "./rank.ts";
import { orderBy, Player, type Schedule } from "./rollout-play.ts";

/** The costliest graphs of this size take about 50 ms, which is as long as taking up a run should take. */
const TASKS_MAX = 3_000;
/** Smaller runs have no order that could be longer or shorter than another. */
const TASKS_MIN = 3;
/** How often a run is played forwards and backwards. More turns bring little. */
const TURNS = 2;
/** How much shorter a run must become for another order, as a share: less than this is lost again where estimates are wrong. */
const WORTH_WHILE = 0.01;

/** Without estimates a path is counted in tasks and not in time, so the run is not played through: the longest remaining path goes first. */
export function firstRanks(
  { graph, tasks }: Run,
  { costs, known }: Estimates,
  shapes: Shapes,
  site: Pick<Site, "workers" | "resources">,
): Float64Array {
  if (!known || graph.size < TASKS_MIN || graph.size > TASKS_MAX) return upwardRanks(graph, costs);
  const asked = tasks.map(({ spec }) => shapes.of(spec));
  const everything = {
    workers: site.workers,
    resources: site.resources(),
    amountIn: ({ capacity }: Resource): number => capacity,
  };
  return ranksFromBothEnds(graph, costs, demandsOf(asked, everything));
}

/** The longest remaining paths, or the ranks with which everything ends sooner, if the gain is worth it. */
export function ranksFromBothEnds(graph: Graph, costs: Float64Array, demands: Demands): Float64Array {
  const tails = upwardRanks(graph, costs);
  const { forth, back } = coursesOf(graph, costs, tails, demands);
  const player = new Player(forth);
  const returning = new Player(back);
  let ranks = tails;
  let bound = player.play(orderBy(tails), NEVER) * (1 - WORTH_WHILE);
  if (bound <= lowerBound(forth)) return tails;
  for (let turn = 0; turn < TURNS; turn++) {
    returning.play(orderBy(player.ends), NEVER);
    const found = returning.ends.slice();
    const length = player.play(orderBy(found), NEVER);
    if (length < bound) {
      bound = length;
      ranks = found;
    }
  }
  return ranks;
}

const NEVER = Number.POSITIVE_INFINITY;

/** The run from its beginning to its end, and from its end to its beginning. */
function coursesOf(graph: Graph, costs: Float64Array, tails: Float64Array, demands: Demands) {
  const alike = { size: graph.size, running: 0, costs, ...demands, asks: atMostAll(demands) };
  const needs = edgesOf(graph.size, (no, visit) => graph.eachNeed(no, visit));
  const dependents = edgesOf(graph.size, (no, visit) => graph.eachDependent(no, visit));
  const forth: Schedule = { ...alike, tails, unmet: countsOf(needs), ...dependents };
  // A play without a bound is never given up, so the distance to the other end is never read.
  const back: Schedule = { ...alike, tails: costs, unmet: countsOf(dependents), ...needs };
  return { forth, back };
}

/** A task that no worker can ever do must not hold up the tasks after it. */
const atMostAll = ({ kinds, free, asks }: Demands): Float64Array =>
  asks.map((amount, at) => Math.min(amount, free[at % kinds] as number));

/** Which tasks come after a task, in the direction of the play. */
type Edges = Pick<Schedule, "starts" | "dependents">;

function edgesOf(size: number, each: (no: TaskNo, visit: (other: TaskNo) => void) => void): Edges {
  const starts = new Int32Array(size + 1);
  const dependents: number[] = [];
  const add = (other: TaskNo): void => {
    dependents.push(other);
  };
  for (let no = 0; no < size; no++) {
    each(taskNo(no), add);
    starts[no + 1] = dependents.length;
  }
  return { starts, dependents: Int32Array.from(dependents) };
}

const countsOf = ({ starts }: Edges): Int32Array =>
  starts.subarray(1).map((end, task) => end - (starts[task] as number));

/** The time that no order can beat: the longest path, or all work of one kind shared out evenly over the room there is for it. */
function lowerBound({ costs, tails, kinds, free, asks }: Schedule): number {
  const work = new Float64Array(kinds);
  for (let at = 0; at < asks.length; at++) {
    work[at % kinds] = (work[at % kinds] as number) + (asks[at] as number) * (costs[Math.floor(at / kinds)] as number);
  }
  const path = tails.reduce((longest, tail) => Math.max(longest, tail), 0);
  return work.reduce((most, each, kind) => (each > 0 ? Math.max(most, each / (free[kind] as number)) : most), path);
}

/** Turns what a task asks for into what it would take, and from where. Tasks that ask for the same things share one shape. */
import type { Run } from "../../domain/run.ts";
import type { TaskSpec } from "../../domain/spec.ts";
import { isWorking, type Status } from "../../domain/task.ts";
import { type Instant, instant } from "../../domain/time.ts";
import type { Calling } from "../roster.ts";
import type { Node, Placement } from "./nodes.ts";
import type { Demand, Room, Use } from "./room.ts";

export interface Shape extends Calling {
  readonly key: string;
  /** What it takes of the plan's own capacities. */
  readonly own: readonly Demand[];
  /** The nodes that could ever take it, with what it would take there. */
  readonly placements: readonly Placement[];
  /** Where no node could take it: what the best of them has too little of. */
  readonly tooMuch: readonly Demand[];
  readonly provider: string | undefined;
  /**
   * The largest part it takes of anything that all runs share: a slot, or what it asks for. Fairness is measured by it. What a plan
   * declares for itself belongs to no other run, so it is no part of this.
   */
  readonly share: number;
}

/** What a plan declares is its own; what a machine has is shared by all runs. A request counts against both. */
export const ownPot = (run: Run, name: string): string => `${run.no}:${name}`;

export class Shapes {
  readonly #run: Run;
  readonly #shared: Room;
  readonly #nodes: readonly Node[];
  readonly #known = new Map<string, Shape>();

  constructor(run: Run, shared: Room, nodes: readonly Node[]) {
    this.#run = run;
    this.#shared = shared;
    this.#nodes = nodes;
  }

  of(spec: TaskSpec): Shape {
    const key = shapeKey(spec);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const shape = this.#make(key, spec);
    this.#known.set(key, shape);
    return shape;
  }

  #make(key: string, spec: TaskSpec): Shape {
    const { resources, requires, provider, workspace, channel, session } = spec;
    const asked = Object.entries(resources);
    const own = asked.flatMap(([name, amount]) => demandFrom(this.#shared, ownPot(this.#run, name), amount));
    const capable = this.#nodes.filter(
      ({ workers, capabilities, open }) =>
        open || (workers.size > 0 && requires.every((each) => capabilities.has(each))),
    );
    const places = (capable.length > 0 ? capable : this.#nodes).map((node) => ({
      node,
      demands: this.#demandsOn(node, asked),
    }));
    const excess = places.map(({ demands }) => demands.filter(({ resource, amount }) => amount > resource.capacity));
    const placements = capable.length === 0 ? [] : places.filter((_, at) => excess[at]?.length === 0);
    const least = excess.reduce((fewest, each) => (each.length < fewest.length ? each : fewest));
    const ownExcess = own.filter(({ resource, amount }) => amount > resource.capacity);
    const tooMuch = [...(placements.length === 0 ? least : []), ...ownExcess];
    const calling = {
      requires,
      ...(workspace !== undefined && { workspace }),
      ...(channel !== undefined && { channel }),
      ...(session !== undefined && { session }),
    };
    return { key, own, placements, tooMuch, ...calling, provider, share: this.#shareOf(asked) };
  }

  /** If another node has a resource and this one does not, this one cannot give any. A resource that no node has is counted by the plan alone. */
  #demandsOn(node: Node, asked: readonly (readonly [string, number])[]): readonly Demand[] {
    return asked.flatMap(([name, amount]) => {
      const there = demandFrom(node.room, name, amount);
      const isCounted = there.length > 0 || this.#shared.resource(ownPot(this.#run, name)) !== undefined;
      if (isCounted || this.#nodes.every(({ room }) => room.resource(name) === undefined)) return there;
      return [{ resource: { name, capacity: 0, free: 0, at: instant(0) }, amount }];
    });
  }

  #shareOf(asked: readonly (readonly [string, number])[]): number {
    const total = (of: (node: Node) => number): number => this.#nodes.reduce((sum, node) => sum + of(node), 0);
    let share =
      1 /
      Math.max(
        1,
        total(({ workers }) => workers.size),
      );
    for (const [name, amount] of asked) {
      const capacity = total(({ room }) => room.resource(name)?.capacity ?? 0);
      if (capacity > 0) share = Math.max(share, amount / capacity);
    }
    return share;
  }
}

/** Everything a task takes in one place, its worker slot included. */
export const wholeDemand = ({ own }: Shape, { node, demands }: Placement): readonly Demand[] => [
  ...own,
  ...demands,
  { resource: node.slots, amount: 1 },
];

/**
 * What the tasks of a run have taken of one of its rates before now, as far as their state still shows it: every attempt is taken for the
 * last. A task that is being worked on takes its part when it is taken up again; a task that is only verified has taken it before.
 */
export const usesOf = ({ tasks }: Run, name: string): readonly Use[] =>
  tasks.flatMap(({ spec, attempt, status }) => {
    const amount = (spec.resources[name] ?? 0) * (isWorking(status) ? attempt - 1 : attempt);
    return amount > 0 ? [{ at: lastMoment(status), amount }] : [];
  });

function lastMoment(status: Status): Instant {
  if ("since" in status) return status.since;
  return "at" in status ? status.at : instant(0);
}

function demandFrom(room: Room, name: string, amount: number): readonly Demand[] {
  const resource = room.resource(name);
  return resource === undefined ? [] : [{ resource, amount }];
}

function shapeKey({ resources, requires, provider, pool, workspace, channel, session }: TaskSpec): string {
  let key = "";
  for (const name in resources) key += `${name}=${resources[name]};`;
  if (requires.length > 0) key += `|${requires.join(",")}`;
  // Only tasks for sessions name a place, and most of them name none.
  if (pool !== undefined) key += "#";
  if (workspace !== undefined || channel !== undefined || session !== undefined)
    key += JSON.stringify([workspace, channel, session]);
  return provider === undefined ? key : `${key}@${provider}`;
}

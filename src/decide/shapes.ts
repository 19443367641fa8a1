/** Turns what a task asks for into what it would take, and from where. Tasks that ask for the same share one shape. */
import type { Run } from "../domain/run.ts";
import type { TaskSpec } from "../domain/spec.ts";
import type { Node, Spot } from "./nodes.ts";
import type { Draw, Room } from "./room.ts";

export interface Shape {
  readonly key: string;
  /** What it takes of the plan's own capacities. */
  readonly own: readonly Draw[];
  /** The nodes that could ever take it, with what it would take there. */
  readonly spots: readonly Spot[];
  /** Everything it takes where it would go by default: what explanations speak of. */
  readonly draws: readonly Draw[];
  readonly requires: readonly string[];
  readonly provider: string | undefined;
  /** The largest part it takes of anything: a slot, or what it asks for. What fairness is measured by. */
  readonly share: number;
}

/** What a plan declares is its own; what a machine has is everybody's. A request counts against both. */
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

  #make(key: string, { resources, requires, provider }: TaskSpec): Shape {
    const asked = Object.entries(resources);
    const own = asked.flatMap(([name, amount]) => drawFrom(this.#shared, ownPot(this.#run, name), amount));
    const onNode = (node: Node): readonly Draw[] =>
      asked.flatMap(([name, amount]) => drawFrom(node.room, name, amount));
    const all = this.#nodes.map((node) => ({ node, draws: onNode(node) }));
    const spots = all.filter(
      ({ node, draws }) =>
        node.workers.size > 0 &&
        requires.every((capability) => node.capabilities.has(capability)) &&
        draws.every(({ pot, amount }) => amount <= pot.capacity),
    );
    const draws = [...((spots[0] ?? all[0])?.draws ?? []), ...own];
    const workers = this.#nodes.reduce((sum, node) => sum + node.workers.size, 0);
    const shares = draws.map(({ pot, amount }) => (pot.capacity === 0 ? 0 : amount / pot.capacity));
    return { key, own, spots, draws, requires, provider, share: Math.max(1 / Math.max(1, workers), ...shares) };
  }
}

function drawFrom(room: Room, name: string, amount: number): readonly Draw[] {
  const pot = room.pot(name);
  return pot === undefined ? [] : [{ pot, amount }];
}

function shapeKey({ resources, requires, provider }: TaskSpec): string {
  let key = "";
  for (const name in resources) key += `${name}=${resources[name]};`;
  if (requires.length > 0) key += `|${requires.join(",")}`;
  return provider === undefined ? key : `${key}@${provider}`;
}

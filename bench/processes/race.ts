/** Has several contenders run the same graph in turns, so that whatever else the machine does meets all of them. */
import { loadavg } from "node:os";
import { median, round } from "../rig.ts";
import { type Scratch, timeCommand } from "./command.ts";
import type { Contender } from "./contenders.ts";
import type { Graph } from "./graphs.ts";

export type Standing = Measured | { readonly skipped: string };

export interface Measured {
  readonly version: string;
  readonly rounds: number;
  /** Milliseconds a task for the whole command, its start included: the median, and the best round. */
  readonly wallMsPerTask: number;
  readonly wallMsPerTaskBest: number;
  /** The same as the contender says itself, without its start. */
  readonly ownMsPerTask?: number;
}

export interface Race {
  readonly tasks: number;
  /** Load average of the machine: figures from a busy one are for comparing within the race only. */
  readonly load: { readonly before: number; readonly after: number };
  readonly standings: Readonly<Record<string, Standing>>;
  /** Wall time over that of the floor, and over that of Rota, in the same round: the medians. */
  readonly ratios: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

interface Lap {
  readonly wallMs: number;
  readonly ownMs?: number;
}

/** Ratios are taken over each of the `references`. Every round begins with another contender. */
export async function race(
  graph: Graph,
  contenders: readonly Contender[],
  options: { readonly rounds: number; readonly references: readonly string[]; readonly scratch: Scratch },
): Promise<Race> {
  const before = loadavg()[0] as number;
  const present = contenders.map(entrant);
  for (let no = 0; no < options.rounds; no++) {
    for (let place = 0; place < present.length; place++) {
      const each = present[(no + place) % present.length] as Entrant;
      if (each.skipped !== undefined || no >= (each.contender.roundsMax ?? options.rounds)) continue;
      await takeLap(each, graph, options);
    }
  }
  const standings: Record<string, Standing> = {};
  const ratios: Record<string, Record<string, number>> = {};
  for (const each of present) {
    const { name } = each.contender;
    if (each.skipped !== undefined) {
      standings[name] = { skipped: each.skipped };
      process.stderr.write(`${name} is left out: ${each.skipped}\n`);
      continue;
    }
    standings[name] = { version: each.version, ...summarise(each.laps, graph.length) };
    const others = present.filter(
      ({ contender, laps }) => options.references.includes(contender.name) && laps.length > 0,
    );
    ratios[name] = Object.fromEntries(others.map(({ contender, laps }) => [contender.name, ratio(each.laps, laps)]));
  }
  return {
    tasks: graph.length,
    load: { before: round(before), after: round(loadavg()[0] as number) },
    standings,
    ratios,
  };
}

interface Entrant {
  readonly contender: Contender;
  readonly laps: Lap[];
  readonly version: string;
  /** Why it takes no part, or no longer. */
  skipped?: string;
}

function entrant(contender: Contender): Entrant {
  const found = contender.available();
  return "skipped" in found
    ? { contender, laps: [], version: "", skipped: found.skipped }
    : { contender, laps: [], version: found.version };
}

/** A peer that fails is left out from then on; what is measured against it must not. */
async function takeLap(
  each: Entrant,
  graph: Graph,
  { references, scratch }: { readonly references: readonly string[]; readonly scratch: Scratch },
): Promise<void> {
  try {
    each.laps.push(await lap(each.contender, graph, scratch));
  } catch (error) {
    if (references.includes(each.contender.name)) throw error;
    await scratch.clear(each.contender.name);
    each.skipped = `it failed: ${(error as Error).message}`;
  }
}

async function lap(contender: Contender, graph: Graph, scratch: Scratch): Promise<Lap> {
  const command = contender.prepare(graph, scratch.fresh());
  const { wallMs, stdout } = await timeCommand(command);
  const ownMs = contender.readOwnMs?.(stdout);
  await scratch.clear(contender.name);
  process.stderr.write(`${contender.name}: ${graph.length} tasks, ${(wallMs / graph.length).toFixed(2)} ms each\n`);
  return ownMs === undefined ? { wallMs } : { wallMs, ownMs };
}

function summarise(laps: readonly Lap[], tasks: number): Omit<Measured, "version"> {
  const own = laps.flatMap(({ ownMs }) => (ownMs === undefined ? [] : [ownMs]));
  return {
    rounds: laps.length,
    wallMsPerTask: round(median(laps.map(({ wallMs }) => wallMs)) / tasks),
    wallMsPerTaskBest: round(Math.min(...laps.map(({ wallMs }) => wallMs)) / tasks),
    ...(own.length > 0 && { ownMsPerTask: round(median(own) / tasks) }),
  };
}

/** Round by round, so that a moment in which the machine was busy counts on both sides. */
function ratio(laps: readonly Lap[], others: readonly Lap[]): number {
  const pairs = laps.slice(0, others.length);
  return round(median(pairs.map(({ wallMs }, no) => wallMs / (others[no] as Lap).wallMs)));
}

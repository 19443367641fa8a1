/** Durable queues beside Rota: how many jobs a second, how many in graphs, and how long one job waits on a system that does nothing else. */
import { rmSync } from "node:fs";
import { drainPlan } from "../daemon/pairs.ts";
import { startDaemon } from "../daemon/serve.ts";
import { buildIfStale } from "../processes/build.ts";
import { Scratch } from "../processes/command.ts";
import { atLeast, type Bench, type Goal, inChild, machine } from "../rig.ts";
import { compareLatencies, compareRates, type Latencies, type Rates, type Runner } from "./field.ts";
import { belowEach, latencyTable, rateTable, settingsTable } from "./present.ts";
import { type Graph, Hall, type Throughput } from "./queues/hall.ts";
import {
  BULLMQ,
  BULLMQ_EVERYSEC,
  DBOS,
  GRAPHILE,
  LEFT_OUT,
  LITEQUE,
  PG_BOSS_FETCH,
  PG_BOSS_WORK,
  PLAINJOB,
  PLAINJOB_BUSY,
  type QueuePeer,
} from "./queues/roster.ts";

const OURS = new URL("./ours.ts", import.meta.url);
const ROTA = "rota";
const PLAIN = "rota, without dependencies";
const DAEMON = "rota, through the daemon";
const OWN: readonly string[] = [ROTA, PLAIN, DAEMON];
const FASTER_MIN = 1.8;
const PEERS: readonly QueuePeer[] = [...BULLMQ, GRAPHILE, PG_BOSS_FETCH, PG_BOSS_WORK, DBOS, PLAINJOB, LITEQUE];

interface Sizes {
  readonly jobs: number;
  /** How many of ours make a layer, where the jobs of others need nothing. */
  readonly layer: number;
  readonly slowJobs: number;
  readonly graph: { readonly count: number; readonly size: number };
  readonly samples: number;
  readonly rounds: { readonly rates: number; readonly latencies: number };
}
const FULL: Sizes = {
  jobs: 20_000,
  layer: 1_000,
  slowJobs: 2_000,
  graph: { count: 100, size: 100 },
  samples: 1_000,
  rounds: { rates: 5, latencies: 5 },
};
const QUICK: Sizes = {
  jobs: 1_000,
  layer: 100,
  slowJobs: 100,
  graph: { count: 10, size: 10 },
  samples: 20,
  rounds: { rates: 1, latencies: 1 },
};

export const bench: Bench = async ({ quick }) => {
  buildIfStale();
  const sizes = quick ? QUICK : FULL;
  using scratch = new Scratch();
  await using hall = new Hall(scratch);
  const rates = { rounds: sizes.rounds.rates, rest: hall.rest };
  const jobs = await compareRates(rateRunners(hall, scratch, sizes), rates);
  const graphs: Record<string, Rates> = {};
  for (const shape of ["chains", "fans"] as const) {
    const runners = rateRunners(hall, scratch, sizes, { shape, ...sizes.graph });
    graphs[shape] = await compareRates(runners, rates);
  }
  const latencies = { rounds: sizes.rounds.latencies, rest: hall.rest };
  const latency = await compareLatencies(latencyRunners(hall, sizes), latencies);
  return {
    machine: machine(),
    goals: [
      fasterThanAll("jobs a second, ours with dependencies", jobs),
      ...Object.entries(graphs).map(([shape, rates]) => fasterThanAll(`jobs a second in ${shape}`, rates)),
      ...belowEach("submit to start", ROTA, latency, [PLAINJOB_BUSY.name, BULLMQ_EVERYSEC.name]),
    ],
    results: {
      sizes,
      jobs,
      graphs,
      latency,
      leftOut: LEFT_OUT,
      versions: hall.versions,
      settings: hall.settings,
      leftRunning: scratch.leftRunning,
      tables: tables(hall, sizes, jobs, graphs, latency),
    },
  };
};

/** Those that keep up in full; the slow ones once, and with fewer jobs. */
function rateRunners(hall: Hall, scratch: Scratch, sizes: Sizes, graph?: Graph): readonly Runner<Throughput>[] {
  const count = graph === undefined ? sizes.jobs : graph.count * graph.size;
  // Most queues know nothing of dependencies. Ours are held against their jobs with some, as wide as those are at any time.
  const { shape, size } = graph ?? { shape: "layers", size: sizes.layer };
  const rota = (name: string, shape: string, size: number): Runner<Throughput> => ({
    name,
    run: () => inChild<Throughput>(OURS, ["throughput", shape, count, size, count]),
  });
  const ours: readonly Runner<Throughput>[] = [
    rota(ROTA, shape, size),
    ...(graph === undefined ? [rota(PLAIN, "jobs", 1)] : []),
    { name: DAEMON, roundsMax: 1, run: () => throughDaemon(scratch, shape, count, size) },
  ];
  const peers = PEERS.filter(({ graphs }) => graph === undefined || graphs).map((peer): Runner<Throughput> => {
    if (peer.slow !== true) return { name: peer.name, run: () => hall.throughput(peer, count, count, graph) };
    const jobs = sizes.slowJobs;
    return { name: peer.name, jobs, roundsMax: 1, run: () => hall.throughput(peer, jobs, Math.ceil(jobs / 4), graph) };
  });
  return [...ours, ...peers];
}

async function throughDaemon(scratch: Scratch, shape: string, count: number, size: number): Promise<Throughput> {
  const directory = scratch.fresh();
  try {
    await using daemon = await startDaemon(directory);
    return await drainPlan(daemon, shape, count, size);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function latencyRunners(hall: Hall, { samples }: Sizes): readonly Runner<readonly number[]>[] {
  const ours = async (): Promise<readonly number[]> =>
    (await inChild<{ times: readonly number[] }>(OURS, ["latency", samples])).times;
  // Both ways to work with pg-boss wait in the same way for a single job.
  const peers = [...PEERS.filter((peer) => peer !== PG_BOSS_FETCH), PLAINJOB_BUSY];
  return [
    { name: ROTA, run: ours },
    ...peers.map((peer) => ({ name: peer.name, run: () => hall.latency(peer, samples) })),
  ];
}

/** Against the closest peer. */
function fasterThanAll(what: string, { ratios }: Rates): Goal {
  const peers = Object.entries(ratios).filter(([name]) => !OWN.includes(name));
  const [name, ratio] = peers.toSorted(([, a], [, b]) => a - b)[0] ?? ["no peer", Number.NaN];
  return atLeast(`${what}: rota ÷ ${name}`, ratio, FASTER_MIN);
}

function tables(hall: Hall, sizes: Sizes, jobs: Rates, graphs: Readonly<Record<string, Rates>>, latency: Latencies) {
  const { count, size } = sizes.graph;
  return [
    rateTable(`${sizes.jobs} jobs that do nothing`, jobs, hall.versions, LEFT_OUT),
    ...Object.entries(graphs).map(([shape, rates]) =>
      rateTable(`${count} ${shape} of ${size} jobs`, rates, hall.versions, {}),
    ),
    latencyTable("From submit to start", latency, hall.versions),
    settingsTable(hall.settings, hall.versions),
  ];
}

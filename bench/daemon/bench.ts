/** What the daemon does over its socket: pairs of claim and complete, waking sessions that wait, being idle, memory, and a crowd. */
import { rmSync } from "node:fs";
import { loadavg } from "node:os";
import { compareLatencies, type Runner } from "../peers/field.ts";
import { below, belowEach, latencyTable, ratios, ratioTable, settingsTable, type Table } from "../peers/present.ts";
import { Hall } from "../peers/queues/hall.ts";
import { BULLMQ, BULLMQ_EVERYSEC, GRAPHILE, PG_BOSS_WORK } from "../peers/queues/roster.ts";
import { buildIfStale } from "../processes/build.ts";
import { Scratch } from "../processes/command.ts";
import { atLeast, atMost, type Bench, machine, median, type Percentiles, round } from "../rig.ts";
import { claimTimes } from "./crowd.ts";
import { idleCost } from "./idle.ts";
import { type MemoryAt, memoryOver } from "./memory.ts";
import { barePairs, drainPlan, SESSIONS } from "./pairs.ts";
import { type Served, startBare, startDaemon } from "./serve.ts";
import { wakeTimes } from "./wakes.ts";

const HTTP_SHARE_MIN = 0.5;
const IDLE_PERCENT_MAX = 1;
const GROWTH_MAX = 1.1;
const FLAT_MAX = 2;
const ROTA = "rota";
/** Like BullMQ with `everysec` it does not wait for the disk: a power cut may take the last second of what was answered. */
const RELAXED = "rota, durability normal";
const RELAXED_PEER = BULLMQ_EVERYSEC.name;
const WAKING = "submit to claim";

const FULL = {
  rounds: 3,
  /** More of them: one bad moment of the disk is one round's. */
  wakes: 5,
  pairs: 10_000,
  samples: 1_000,
  idle: { sessions: 1_000, seconds: 20 },
  memory: { plan: 2_000, marks: [50_000, 100_000, 200_000] },
  crowd: { idle: 1_000, queued: 10_000, claims: 2_000 },
};
const QUICK = {
  rounds: 1,
  wakes: 1,
  pairs: 500,
  samples: 20,
  idle: { sessions: 50, seconds: 2 },
  memory: { plan: 200, marks: [1_000, 2_000] },
  crowd: { idle: 50, queued: 500, claims: 200 },
};

export const bench: Bench = async ({ quick }) => {
  buildIfStale();
  const sizes = quick ? QUICK : FULL;
  using scratch = new Scratch();
  await using hall = new Hall(scratch);
  const before = loadavg()[0] as number;
  const pairs = await pairsBesideBare(scratch, sizes);
  const wakes = await compareLatencies(wakeRunners(hall, scratch, sizes.samples), {
    rounds: sizes.wakes,
    rest: hall.rest,
  });
  const { sessions, seconds } = sizes.idle;
  const idle = await withDaemon(scratch, (daemon) => idleCost(daemon, sessions, seconds));
  const crowd = await crowdBesideNobody(scratch, sizes);
  const memory = await withDaemon(scratch, (daemon) => memoryOver(daemon, sizes.memory.plan, sizes.memory.marks));
  const unlike = ratios(WAKING, ROTA, RELAXED_PEER, wakes);
  return {
    machine: machine(),
    goals: [
      atLeast("pairs of claim and complete a second, as a share of two empty calls", pairs.ratio, HTTP_SHARE_MIN),
      ...below(WAKING, RELAXED, RELAXED_PEER, wakes, " (both may lose a second)"),
      ...belowEach(WAKING, ROTA, wakes, [RELAXED, RELAXED_PEER]),
      atMost(`idle with ${sessions} waiting sessions, % of a core`, idle.percent, IDLE_PERCENT_MAX),
      atMost("claim p99 in a crowd, over that of one session", crowd.ratio, FLAT_MAX),
      atMost("heap after all tasks, over that after the first quarter", growth(memory), GROWTH_MAX),
    ],
    results: {
      sessions: SESSIONS,
      pairs,
      wakes,
      unlike,
      idle,
      crowd,
      memory,
      load: { before: round(before), after: round(loadavg()[0] as number) },
      versions: hall.versions,
      settings: hall.settings,
      leftRunning: scratch.leftRunning,
      tables: [
        latencyTable("From submit to a session that waits having it", wakes, hall.versions),
        ratioTable(
          "**What is not alike**: ours is on the disk before it is answered, theirs may lose a second. No goal.",
          unlike,
        ),
        memoryTable(memory),
        settingsTable(hall.settings, hall.versions),
      ],
    },
  };
};

type Sizes = typeof FULL;

/** A daemon of its own for each measurement: nothing of one is in the next. */
async function withDaemon<T>(
  scratch: Scratch,
  measure: (daemon: Served) => Promise<T>,
  env: NodeJS.ProcessEnv = {},
): Promise<T> {
  const directory = scratch.fresh();
  try {
    await using daemon = await startDaemon(directory, env);
    return await measure(daemon);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function pairsBesideBare(scratch: Scratch, { rounds, pairs: count }: Pick<Sizes, "rounds" | "pairs">) {
  const laps: { readonly bare: number; readonly rota: number }[] = [];
  for (let no = 0; no < rounds; no++) {
    const bare = await withBare(scratch, count);
    const { perSecond: rota } = await withDaemon(scratch, (daemon) => drainPlan(daemon, "jobs", count, 1));
    process.stderr.write(`pairs a second: ${Math.round(rota)}, two empty calls ${Math.round(bare)}\n`);
    laps.push({ bare: round(bare), rota: round(rota) });
  }
  return { laps, ratio: median(laps.map(({ bare, rota }) => rota / bare)) };
}

async function withBare(scratch: Scratch, count: number): Promise<number> {
  await using bare = await startBare(scratch.fresh());
  return await barePairs(bare, count);
}

function wakeRunners(hall: Hall, scratch: Scratch, samples: number): readonly Runner<readonly number[]>[] {
  const peers = [...BULLMQ, GRAPHILE, PG_BOSS_WORK];
  const ours = (name: string, env: NodeJS.ProcessEnv): Runner<readonly number[]> => ({
    name,
    run: () => withDaemon(scratch, (daemon) => wakeTimes(daemon, samples), env),
  });
  return [
    ours(ROTA, {}),
    ours(RELAXED, { ROTA_DURABILITY: "normal" }),
    ...peers.map((peer) => ({ name: peer.name, run: () => hall.latency(peer, samples) })),
  ];
}

async function crowdBesideNobody(scratch: Scratch, { rounds, crowd }: Pick<Sizes, "rounds" | "crowd">) {
  const laps: { readonly alone: Percentiles; readonly crowded: Percentiles }[] = [];
  for (let no = 0; no < rounds; no++) {
    const few = { idle: 0, queued: 100, claims: crowd.claims };
    const alone = await withDaemon(scratch, (daemon) => claimTimes(daemon, few));
    const crowded = await withDaemon(scratch, (daemon) => claimTimes(daemon, crowd));
    process.stderr.write(`claim p99: alone ${round(alone.p99)} ms, in a crowd ${round(crowded.p99)} ms\n`);
    laps.push({ alone, crowded });
  }
  return { laps, ratio: median(laps.map(({ alone, crowded }) => crowded.p99 / alone.p99)) };
}

const growth = (memory: readonly MemoryAt[]): number =>
  (memory.at(-1) as MemoryAt).heapMb / (memory[0] as MemoryAt).heapMb;

const memoryTable = (memory: readonly MemoryAt[]): Table => ({
  title: "**Memory** after a full collection, megabytes.",
  head: ["tasks", "heap", "resident"],
  rows: memory.map(({ tasks, heapMb, rssMb }) => [tasks, round(heapMb), round(rssMb)]),
});

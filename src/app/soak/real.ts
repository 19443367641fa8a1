/**
 * The part of a soak that is no simulation: a daemon with real processes, sessions that claim from it over its socket, and a loop that kills it
 * again and again. In the end every task must be done once, and everything that was answered must be recorded.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Millis, millis, seconds } from "../../domain/time.ts";
import { sleep, systemClock } from "../../effects/clock.ts";
import { type Random, seededRandom } from "../../effects/random.ts";
import { brokenLaws } from "../../simulate/history/offline.ts";
import { openStore } from "../../store/open.ts";
import type { RealReport } from "../../views/simulation/soak.ts";
import { type Client, connect } from "../../wire/client.ts";
import { type Acks, playSession } from "./session.ts";

export interface RealOptions {
  /** How this program is started again. */
  readonly program: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly within: Millis;
  readonly seed: number;
  readonly signal: AbortSignal;
}

const SESSIONS = 4;
const TASKS = 40;
/** How long everything may take to end after the last kill. */
const DRAIN = seconds(120);
const clock = systemClock();

export async function soakForReal(options: RealOptions): Promise<RealReport> {
  const place = mkdtempSync(join(tmpdir(), "rota-soak-"));
  try {
    return await soakIn(place, options);
  } finally {
    rmSync(place, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function soakIn(place: string, { program, env, within, seed, signal }: RealOptions): Promise<RealReport> {
  const random = seededRandom(seed);
  const state = join(place, "state");
  const end = clock.now() + within;
  const client = connect({ state }, { by: "soak" });
  const over = new AbortController();
  const acks: Acks = new Map();
  const sessions = Array.from({ length: SESSIONS }, (_, at) =>
    playSession({ client, id: `s${at}`, random: seededRandom(seed + at), acks, signal: over.signal }),
  );
  const start = (): Promise<Daemon> => startDaemon(program, state, place, env);
  let daemon = await start();
  let [kills, runs] = [0, 0];
  while (clock.now() < end && !signal.aborted) {
    if (await submit(client, place, runs, random)) runs++;
    await sleep(clock, millis(300 + random.next() * 2_500));
    await kill(daemon, "SIGKILL");
    kills++;
    daemon = await start();
  }
  const isDrained = await drained(client);
  over.abort();
  await Promise.all(sessions);
  const growth = memoryOf(daemon) - daemon.memory;
  await client[Symbol.asyncDispose]();
  await kill(daemon, "SIGTERM");
  const broken = [...(await lawsOf(state, acks)), ...doubles(place)];
  return { kills, runs, tasks: runs * TASKS, isDrained, broken, growth };
}

interface Daemon {
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
  readonly memory: number;
}

async function startDaemon(
  [command, ...args]: RealOptions["program"],
  state: string,
  cwd: string,
  env: RealOptions["env"],
): Promise<Daemon> {
  const child = spawn(command, [...args, "serve", "--state", state, "--workers", "4", "--json"], {
    cwd,
    env: { ...env, ROTA_LEASE_TTL: "10s" },
    stdio: ["ignore", "pipe", "ignore"],
  });
  const ended = new Promise<void>((resolve) => void child.on("close", () => resolve()));
  await Promise.race([new Promise((resolve) => child.stdout?.once("data", resolve)), ended]);
  const daemon = { child, ended, memory: 0 };
  return { ...daemon, memory: memoryOf(daemon) };
}

async function kill({ child, ended }: Daemon, how: "SIGKILL" | "SIGTERM"): Promise<void> {
  child.kill(how);
  await ended;
}

/** The memory of the process, where the system tells. */
function memoryOf({ child }: Daemon): number {
  try {
    const pages = Number(readFileSync(`/proc/${child.pid}/statm`, "utf8").split(" ")[1]);
    return pages * 4096;
  } catch {
    return 0;
  }
}

/** A plan in layers, half of it for this machine and half for sessions; each process writes down that it ran. */
async function submit(client: Client, place: string, no: number, random: Random): Promise<boolean> {
  const tasks: Record<string, object> = {};
  for (let at = 0; at < TASKS; at++) {
    const needs = at < 8 ? [] : [`t${at - 8}`, `t${at - 1 - Math.floor(random.next() * 7)}`];
    const pause = (random.next() * 0.1).toFixed(3);
    tasks[`t${at}`] =
      at % 2 === 0
        ? { run: `echo ${no}/t${at} >> ran; sleep ${pause}`, needs }
        : { prompt: "work", pool: "soak", needs, retry: { attempts: 3 } };
  }
  const text = JSON.stringify({ name: "soak", tasks });
  const request = { text, file: join(place, "plan.json"), directory: place, key: `run ${no}` };
  return client.submit(request).then(
    () => true,
    () => false,
  );
}

async function drained(client: Client): Promise<boolean> {
  for (const end = clock.now() + DRAIN; clock.now() < end; ) {
    const info = await client.info().catch(() => undefined);
    if (info?.runs === 0) return true;
    await sleep(clock, millis(200));
  }
  return false;
}

async function lawsOf(state: string, acks: Acks): Promise<readonly string[]> {
  await using store = openStore({ database: join(state, "rota.db"), readOnly: true });
  const broken = [...(await brokenLaws(store))];
  const succeeded = new Set<string>();
  for (const { no, manifest } of await store.runs()) {
    const stored = await store.load(no);
    for (const event of await store.events({ run: no })) {
      if (event.kind === "succeeded") succeeded.add(`${manifest.id}/${stored?.specs[event.task]?.id}/${event.attempt}`);
    }
    const left = stored?.tasks.filter(
      ({ state: each }) => each === "waiting" || each === "claimed" || each === "running",
    );
    if (left !== undefined && left.length > 0)
      broken.push(`${left.length} tasks of ${manifest.id} have come to no end`);
  }
  for (const name of acks.keys()) {
    if (!succeeded.has(name)) broken.push(`${name} was acknowledged, and is not in the ledger`);
  }
  return broken;
}

/** A process outlives the scheduler that started it, so each runs once, however often the scheduler is killed. */
function doubles(place: string): readonly string[] {
  const ran = readFileSync(join(place, "ran"), "utf8").trim().split("\n");
  const counts = new Map<string, number>();
  for (const name of ran) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].filter(([, count]) => count > 1).map(([name, count]) => `${name} ran ${count} times`);
}

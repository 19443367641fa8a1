/** Where the queues are measured: their servers are started when the first of them asks, and are gone afterwards. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Scratch } from "../../processes/command.ts";
import { bringQueue, type QueuePeer, type ServerName } from "./roster.ts";
import { startPostgres } from "./servers/postgres.ts";
import { startRedis } from "./servers/redis.ts";
import { reasonOf, type Startable } from "./servers/started.ts";

const DRIVE = fileURLToPath(new URL("./drive.mjs", import.meta.url));
/** A queue that has not finished by then is not going to. */
const TIMEOUT_MS = 180_000;
const TAIL = 2_000;

export interface Graph {
  readonly shape: "chains" | "fans";
  /** How many of them side by side, and of how many jobs each. */
  readonly count: number;
  readonly size: number;
}

export interface Throughput {
  readonly perSecond: number;
  readonly submitPerSecond: number;
}

export type Skipped = { readonly skipped: string };

export class Hall implements AsyncDisposable {
  readonly #scratch: Scratch;
  readonly #servers = new Map<ServerName, Promise<Startable>>();
  readonly settings: Record<string, unknown> = {};
  readonly versions: Record<string, string> = {};

  constructor(scratch: Scratch) {
    this.#scratch = scratch;
    // The user that a server runs as must be able to enter.
    chmodSync(scratch.path, 0o755);
  }

  throughput(peer: QueuePeer, jobs: number, warmUp: number, graph?: Graph): Promise<Throughput | Skipped> {
    return this.#drive<Throughput>(peer, "throughput", jobs, { warmUp, ...(graph && { graph }) });
  }

  async latency(peer: QueuePeer, samples: number): Promise<readonly number[] | Skipped> {
    const result = await this.#drive<{ times: readonly number[] }>(peer, "latency", samples, {});
    return "skipped" in result ? result : result.times;
  }

  /** What failed once is not tried again. */
  readonly #failed = new Map<string, Skipped>();

  async #drive<T extends object>(
    peer: QueuePeer,
    measure: string,
    count: number,
    options: Readonly<Record<string, unknown>>,
  ): Promise<T | Skipped> {
    const known = this.#failed.get(peer.name);
    if (known !== undefined) return known;
    try {
      const brought = peer.packages.map(bringQueue);
      const missing = brought.find((each) => "skipped" in each);
      if (missing !== undefined) return this.#skip(peer, missing.skipped);
      const server = peer.server && (await this.#server(peer.server));
      if (server !== undefined && "skipped" in server) return this.#skip(peer, server.skipped);
      const directory = this.#scratch.fresh();
      mkdirSync(directory);
      const given = { ...options, mode: peer.mode, url: server?.url, directory };
      const args = [DRIVE, peer.driver, measure, String(count), JSON.stringify(given)];
      const { settings, ...result } = JSON.parse(await output(args)) as T & { settings: unknown };
      this.settings[peer.driver] = settings;
      this.versions[peer.name] = versionsOf(peer, brought);
      return result as unknown as T;
    } catch (error) {
      return this.#skip(peer, reasonOf(error));
    }
  }

  #skip(peer: QueuePeer, skipped: string): Skipped {
    process.stderr.write(`${peer.name} is left out: ${skipped}\n`);
    this.#failed.set(peer.name, { skipped });
    return { skipped };
  }

  async #server(name: ServerName): Promise<Startable> {
    const known = this.#servers.get(name) ?? this.#start(name);
    this.#servers.set(name, known);
    const server = await known;
    if (!("skipped" in server)) {
      this.settings[name] = server.settings;
      this.versions[name] = server.version;
    }
    return server;
  }

  #start(name: ServerName): Promise<Startable> {
    const directory = this.#scratch.fresh();
    if (name === "postgres") return startPostgres(directory);
    const fsync = name === "redis always" ? "always" : "everysec";
    return startRedis(directory, fsync, join(this.#scratch.path, "programs"));
  }

  /**
   * What was measured before does not go on beside what is measured next: no server runs, cleans up or writes its backlog, and all
   * that was written is on the disk. A measurement that needs a server starts it again.
   */
  readonly rest = async (): Promise<void> => {
    await this[Symbol.asyncDispose]();
    this.#servers.clear();
    spawnSync("sync");
  };

  async [Symbol.asyncDispose](): Promise<void> {
    for (const starting of this.#servers.values()) {
      const server = await starting;
      if (!("skipped" in server)) await server[Symbol.asyncDispose]();
    }
  }
}

const versionsOf = ({ packages }: QueuePeer, brought: readonly object[]): string =>
  packages.map((name, no) => `${no === 0 ? "" : `${name} `}${(brought[no] as { version: string }).version}`).join(", ");

/** The last line that a fresh Node prints. What it says when it fails is the reason. */
function output(args: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(process.execPath, ["--no-warnings", ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: TIMEOUT_MS,
      killSignal: "SIGKILL",
    });
    let [said, complained] = ["", ""];
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      complained = (complained + text).slice(-TAIL);
    });
    child.on("error", reject);
    child.on("close", (code, signal) => {
      if (code === 0) resolve(said.trim().split("\n").at(-1) as string);
      else
        reject(new Error(signal === null ? errorIn(complained) : `it had not finished after ${TIMEOUT_MS / 1_000} s`));
    });
  });
}

const errorIn = (complained: string): string =>
  complained.split("\n").find((line) => /^\s*\w*[Ee]rror: /.test(line)) ?? complained.trim();

/** The durable queues that take part, each with its best documented settings, and what each of them needs. */
import { join } from "node:path";
import { type Availability, bringPeer } from "../install.ts";

const FOLDER = import.meta.dirname;
export const QUEUE_MODULES = join(FOLDER, "node_modules");

export type ServerName = "postgres" | "redis everysec" | "redis always";

export interface QueuePeer {
  readonly name: string;
  /** The module of `drivers`, and the packages of the manifest it needs; the first is the queue itself. */
  readonly driver: string;
  readonly packages: readonly [string, ...string[]];
  /** None: it keeps its jobs in a file of its own. */
  readonly server?: ServerName;
  /** For queues that can be worked off in more than one way. */
  readonly mode?: string;
  /** Whether one job can wait for others. */
  readonly graphs: boolean;
  /** Takes part in one round with fewer jobs: it is not among the fastest, and they all wait for it. */
  readonly slow?: boolean;
}

export const bringQueue = (name: string): Availability => bringPeer(name, FOLDER);

const bullmq = (fsync: "everysec" | "always"): QueuePeer => ({
  name: `bullmq, AOF ${fsync}`,
  driver: "bullmq",
  packages: ["bullmq", "ioredis"],
  server: `redis ${fsync}`,
  graphs: true,
});

/** A power cut may take the last second of what it has answered with it. */
export const BULLMQ_EVERYSEC = bullmq("everysec");
export const BULLMQ = [BULLMQ_EVERYSEC, bullmq("always")];
export const GRAPHILE: QueuePeer = {
  name: "graphile-worker",
  driver: "graphile-worker",
  packages: ["graphile-worker", "pg"],
  server: "postgres",
  graphs: false,
};
const pgBoss = (mode: "fetch" | "work"): QueuePeer => ({
  name: mode === "fetch" ? "pg-boss, fetch loop" : "pg-boss, work()",
  driver: "pg-boss",
  packages: ["pg-boss", "pg"],
  server: "postgres",
  mode,
  graphs: mode === "fetch",
});
export const PG_BOSS_FETCH = pgBoss("fetch");
export const PG_BOSS_WORK = pgBoss("work");
export const DBOS: QueuePeer = {
  name: "DBOS",
  driver: "dbos",
  packages: ["@dbos-inc/dbos-sdk", "pg"],
  server: "postgres",
  graphs: false,
  slow: true,
};
const sqlite = (name: string): QueuePeer => ({
  name,
  driver: name,
  packages: [name, "better-sqlite3"],
  graphs: false,
  slow: true,
});
export const PLAINJOB: QueuePeer = { ...sqlite("plainjob"), mode: "calm" };
/** Shown for comparison: a system that is polled a thousand times a second is not idle. */
export const PLAINJOB_BUSY: QueuePeer = { ...PLAINJOB, name: "plainjob, polled every ms", mode: "busy" };
export const LITEQUE = sqlite("liteque");

/** Those that were looked at and cannot take part at all. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  bunqueue: "it keeps its jobs with bun:sqlite, which Node does not have",
};

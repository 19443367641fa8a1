/** What a scheduler and a spawner say to each other: one JSON object a line, in order, over one socket. */
import type { Outcome } from "../../domain/outcome.ts";
import type { Command } from "../../domain/spec.ts";
import type { ProcessIdentity, StopReason } from "../../domain/task.ts";

/** What becomes of running attempts when their scheduler dies: kept for one lease so that the next one can adopt them, or stopped. */
export const ORPHANS = ["keep", "stop"] as const;
export type Orphans = (typeof ORPHANS)[number];

export interface SpawnerSettings {
  /** How long attempts may run without a scheduler before the spawner stops them. */
  readonly leaseMs: number;
  readonly orphans: Orphans;
  /** Between asking and killing, where no scheduler says otherwise. */
  readonly graceMs: number;
  /** The same for what an attempt left behind although it ended by itself. */
  readonly leftoverGraceMs: number;
  readonly logMaxBytes: number;
}

/** The first thing a scheduler says. The newest one that knows the secret is the one obeyed. */
export interface Hello {
  readonly kind: "hello";
  readonly secret: string;
  readonly settings: SpawnerSettings;
  /** The environment every attempt starts from: sent once, not with each. */
  readonly environment: Readonly<Record<string, string>>;
}
export interface Start {
  readonly kind: "start";
  readonly key: string;
  readonly command: Command;
  readonly verify?: Command;
  readonly cwd: string;
  /** On top of the environment given at hello. */
  readonly env: Readonly<Record<string, string>>;
  readonly log: string;
  readonly nice: number;
  readonly memoryLimit?: number;
  /** Values to be masked in the log once the attempt has ended. */
  readonly secrets?: readonly string[];
}
export interface Stop {
  readonly kind: "stop";
  readonly key: string;
  readonly reason: StopReason;
  readonly graceMs: number;
}
/** These ends were received. */
export interface Heard {
  readonly kind: "heard";
  readonly keys: readonly string[];
}
/** Nothing more will be asked: leave when nothing runs, and leave nothing behind. */
export interface Goodbye {
  readonly kind: "goodbye";
}
export type ToSpawner = Hello | Start | Stop | Heard | Goodbye;

/** The answer to hello: what runs, and what ended without anybody known to have heard. */
export interface Welcome {
  readonly kind: "welcome";
  readonly live: readonly { readonly key: string; readonly process?: ProcessIdentity }[];
  readonly ends: readonly Ended[];
}
export interface Started {
  readonly kind: "started";
  readonly key: string;
  readonly process?: ProcessIdentity;
}
export interface Progressed {
  readonly kind: "progressed";
  readonly key: string;
}
export interface Ended {
  readonly kind: "ended";
  readonly key: string;
  readonly process?: ProcessIdentity;
  readonly outcome: Outcome;
}
/** Another scheduler has taken over. */
export interface Replaced {
  readonly kind: "replaced";
}
export type FromSpawner = Welcome | Started | Progressed | Ended | Replaced;

type Shape = Readonly<Record<string, "string" | "number" | "object">>;
const TO_SPAWNER: Readonly<Record<ToSpawner["kind"], Shape>> = {
  hello: { secret: "string", settings: "object", environment: "object" },
  start: { key: "string", command: "object", cwd: "string", env: "object", log: "string", nice: "number" },
  stop: { key: "string", reason: "object", graceMs: "number" },
  heard: { keys: "object" },
  goodbye: {},
};
const FROM_SPAWNER: Readonly<Record<FromSpawner["kind"], Shape>> = {
  welcome: { live: "object", ends: "object" },
  started: { key: "string" },
  progressed: { key: "string" },
  ended: { key: "string", outcome: "object" },
  replaced: {},
};

/** Nothing for a line that is not a message: the other side may be newer, or half dead. */
export const parseToSpawner = (line: string): ToSpawner | undefined => parse(line, TO_SPAWNER) as ToSpawner | undefined;
export const parseFromSpawner = (line: string): FromSpawner | undefined =>
  parse(line, FROM_SPAWNER) as FromSpawner | undefined;

function parse(line: string, shapes: Readonly<Record<string, Shape>>): unknown {
  let raw: unknown;
  try {
    raw = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof raw !== "object" || raw === null) return undefined;
  const message = raw as Readonly<Record<string, unknown>>;
  const kind = message.kind;
  if (typeof kind !== "string" || !Object.hasOwn(shapes, kind)) return undefined;
  for (const [field, type] of Object.entries(shapes[kind] as Shape)) {
    if (typeof message[field] !== type || message[field] === null) return undefined;
  }
  return message;
}

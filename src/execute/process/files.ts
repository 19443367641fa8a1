/** What the executor and its spawners leave in the state directory, so that a later scheduler finds what still runs. */
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UserError } from "../../domain/errors.ts";
import type { ProcessIdentity } from "../../domain/task.ts";
import { type Ended, parseFromSpawner } from "./messages.ts";

/** Fixed for the life of a state directory: the mark its processes carry, and what proves that one may command them. */
export interface StateIdentity {
  readonly stateId: string;
  readonly secret: string;
}

/** Where a running spawner is found. */
export interface SpawnerRecord {
  readonly id: string;
  readonly process: ProcessIdentity;
  readonly socket: string;
}

export const recordFile = (directory: string, id: string): string => join(directory, `${id}.json`);
export const socketFile = (directory: string, id: string): string => join(directory, `${id}.sock`);
export const endsFile = (directory: string, id: string): string => join(directory, `${id}.ends.jsonl`);
export const errorsFile = (directory: string): string => join(directory, "spawner.log");
const identityFile = (directory: string): string => join(directory, "identity.json");

/** The kernel takes 107 bytes, on some systems 103. */
const SOCKET_PATH_MAX = 100;

/** Where a spawner listens: beside its record, or in a private directory where that path would be too long for a socket. */
export function socketPathFor(directory: string, id: string): string {
  const usual = socketFile(directory, id);
  if (Buffer.byteLength(usual) <= SOCKET_PATH_MAX) return usual;
  return join(mkdtempSync(join(tmpdir(), "rota-")), "spawner.sock");
}

/** Makes the directory, for this user alone, and returns its name. */
export function prepareDirectory(stateDir: string): string {
  const directory = join(stateDir, "processes");
  return orUnusable(directory, () => {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    chmodSync(directory, 0o700);
    return directory;
  });
}

/** The identity of this state directory, made at first use. Written aside and linked, so that nobody reads half of it. */
export function claimIdentity(directory: string, fresh: () => StateIdentity, suffix: string): StateIdentity {
  const known = readIdentity(directory);
  if (known !== undefined) return known;
  orUnusable(directory, () => linkIdentity(directory, fresh(), suffix));
  return readIdentity(directory) ?? fresh();
}

function linkIdentity(directory: string, identity: StateIdentity, suffix: string): void {
  const aside = `${identityFile(directory)}.${suffix}`;
  try {
    writeFileSync(aside, JSON.stringify(identity), { mode: 0o600 });
    linkSync(aside, identityFile(directory));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(aside, { force: true });
  }
}

/** What the system refuses here, the user can put right. */
function orUnusable<T>(path: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    throw new UserError("STATE_UNUSABLE", `${path}: ${(error as Error).message}`, { cause: error });
  }
}

export function readIdentity(directory: string): StateIdentity | undefined {
  const raw = readJson(identityFile(directory)) as Partial<StateIdentity> | undefined;
  return typeof raw?.stateId === "string" && typeof raw.secret === "string" ? (raw as StateIdentity) : undefined;
}

export function writeRecord(directory: string, record: SpawnerRecord): void {
  const aside = `${recordFile(directory, record.id)}.new`;
  writeFileSync(aside, JSON.stringify(record), { mode: 0o600 });
  renameSync(aside, recordFile(directory, record.id));
}

/** Spawners that said where they are. Whether they still live is another question. */
export function readRecords(directory: string): SpawnerRecord[] {
  const found: SpawnerRecord[] = [];
  for (const name of readdirSync(directory)) {
    if (!name.endsWith(".json") || join(directory, name) === identityFile(directory)) continue;
    const raw = readJson(join(directory, name)) as Partial<SpawnerRecord> | undefined;
    if (typeof raw?.id === "string" && typeof raw.socket === "string" && typeof raw.process === "object") {
      found.push(raw as SpawnerRecord);
    }
  }
  return found;
}

/** Spawners that left ends nobody is known to have heard. */
export const readEnders = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => name.endsWith(".ends.jsonl"))
    .map((name) => name.slice(0, -".ends.jsonl".length));

/** A last line that was cut short is no end. */
export function readEnds(directory: string, id: string): Ended[] {
  let text: string;
  try {
    text = readFileSync(endsFile(directory, id), "utf8");
  } catch {
    return [];
  }
  return text
    .split("\n")
    .map(parseFromSpawner)
    .filter((message) => message?.kind === "ended");
}

/** Removes every trace of a spawner. */
export function forgetSpawner(directory: string, id: string): void {
  for (const file of [recordFile, socketFile, endsFile]) rmSync(file(directory, id), { force: true });
  // Empty logs that a forker kept to use again, and could not remove because it was killed.
  for (const name of readdirSync(directory)) {
    // The forker may take its own away at the same moment.
    if (name.startsWith(`${id}.spare-`)) rmSync(join(directory, name), { force: true });
  }
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
}

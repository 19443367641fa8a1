/** Finds what earlier schedulers of this state directory left: spawners that still run, and ends that were written down. */
import { rmSync } from "node:fs";
import { createConnection } from "node:net";
import { dirname } from "node:path";
import { later, seconds } from "../../domain/time.ts";
import type { Clock } from "../../effects/clock.ts";
import { isAlive } from "../../effects/host.ts";
import { overSocket } from "./channel.ts";
import { signal } from "./ending.ts";
import { forgetSpawner, readEnders, readEnds, readRecords, type SpawnerRecord } from "./files.ts";
import { Link, type Lost } from "./link.ts";
import { type Ended, type Hello, parseFromSpawner } from "./messages.ts";

export interface Inheritance {
  /** Spawners that answered. */
  readonly links: readonly Link[];
  /** What spawners that are gone have written down. */
  readonly ends: Map<string, Ended>;
  /** Somebody was here, and has not removed all that tells of it. */
  readonly traces: boolean;
  /** Removes the files of spawners that are gone, but for those whose ends may not be saved. */
  forget(owed: ReadonlySet<Link>): void;
}

/** Longer than a busy spawner takes to answer; one that does not is of no more use. */
const ANSWER_MAX = seconds(5);

export async function inherit(
  directory: string,
  own: ReadonlySet<string>,
  hello: Hello,
  clock: Clock,
  lost: Lost,
): Promise<Inheritance> {
  const records = readRecords(directory).filter(({ id }) => !own.has(id));
  const answers = await Promise.all(records.map((record) => visit(record, hello, clock, lost)));
  const links = answers.filter((link) => link !== undefined);
  // Read after the visits: one that left in between has written its ends before it did.
  const gone = readEnders(directory).filter((id) => !own.has(id) && !links.some((link) => link.id === id));
  const ends = new Map(gone.flatMap((id) => readEnds(directory, id)).map((ended) => [ended.key, ended]));
  return {
    links,
    ends,
    traces: records.length + gone.length > 0,
    forget(owed) {
      ends.clear();
      for (const id of gone) forgetSpawner(directory, id);
      for (const record of records) {
        if (links.some((link) => link.id === record.id && (link.open || owed.has(link)))) continue;
        forgetSpawner(directory, record.id);
        removeSocketElsewhere(directory, record.socket);
      }
    },
  };
}

/** Nothing when it is gone. One that is there and does not answer is ended: its attempts are then found by their marks. */
async function visit(record: SpawnerRecord, hello: Hello, clock: Clock, lost: Lost): Promise<Link | undefined> {
  if (!isAlive(record.process)) return undefined;
  const socket = createConnection(record.socket);
  const link = new Link(record.id, overSocket(socket, parseFromSpawner), hello, lost);
  const timer = clock.at(later(clock.now(), ANSWER_MAX), () => socket.destroy());
  const ready = await link.ready;
  timer.cancel();
  if (ready) return link;
  if (isAlive(record.process)) signal(record.process.pid, "SIGKILL");
  return undefined;
}

/** Where the path was too long for a socket, it lies in a directory of its own. */
function removeSocketElsewhere(directory: string, socket: string): void {
  if (dirname(socket) !== directory) rmSync(dirname(socket), { recursive: true, force: true });
}

/**
 * The spawner: a small program between a scheduler and the processes of its tasks. It starts them faster than a big program
 * can, and it is still there when that one has died. See README.md in src/execute.
 *
 *   node spawner/main.ts DIRECTORY ID SCHEDULER        (the process that started it, which is at the other end of descriptor 3)
 */
import { chmodSync, rmSync } from "node:fs";
import { createServer, Socket } from "node:net";
import { dirname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { ownIdentity, processIdentity } from "../../../effects/host.ts";
import { overSocket } from "../channel.ts";
import { endsFile, readIdentity, recordFile, socketFile, socketPathFor, writeRecord } from "../files.ts";
import { parseToSpawner } from "../messages.ts";
import { Ends } from "./ends.ts";
import { openNodeForker } from "./node-forker.ts";
import { Spawner } from "./spawner.ts";

// There is little to compute here, and the memory of optimising compilers would be copied at every fork: a fifth of all there is.
setFlagsFromString("--no-opt");
setFlagsFromString("--no-maglev");

/** How long a start may go untold. */
const PATIENCE_MS = 2;

const [directory, id, scheduler] = process.argv.slice(2);
const identity = directory === undefined ? undefined : readIdentity(directory);
if (directory === undefined || id === undefined || identity === undefined) {
  process.stderr.write("usage: spawner DIRECTORY ID SCHEDULER, with identity.json in the directory\n");
  process.exit(2);
}

const socketPath = socketPathFor(directory, id);
const leave = (): void => {
  rmSync(recordFile(directory, id), { force: true });
  server.close();
  removeSocket(socketPath);
  // What was said last must still reach the scheduler: the loop ends by itself once it is written.
  parent.unref();
  setTimeout(() => process.exit(0), 1_000).unref();
};
const ends = new Ends(endsFile(directory, id));
const spawner = new Spawner({ identity, ends, forker: openNodeForker(), leave, patienceMs: PATIENCE_MS });
const server = createServer((socket) => spawner.accept(overSocket(socket, parseToSpawner), "stranger"));
server.on("error", (error) => process.stderr.write(`${String(error)}\n`));
server.listen(socketPath, () => chmodSync(socketPath, 0o600));
writeRecord(directory, { id, process: ownIdentity(), socket: socketPath });
const parent = new Socket({ fd: 3, readable: true, writable: true });
// Whoever takes over from one that died before the record was written looks for nobody here, so nothing that is still to be read may be begun.
const isThere = process.ppid === Number(scheduler) && processIdentity(process.ppid) !== undefined;
if (isThere) spawner.accept(overSocket(parent, parseToSpawner), "parent");
else leave();
for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(name, () => spawner.resign());

function removeSocket(path: string): void {
  rmSync(path, { force: true });
  if (path !== socketFile(directory as string, id as string)) rmSync(dirname(path), { recursive: true, force: true });
}

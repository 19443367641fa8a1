/**
 * The keeper: takes over from a scheduler that is gone what a forker runs, watches it as that one did, and gives it to the next
 * scheduler that comes. A forker starts it when it is needed; most runs never see one. See README.md in src/execute.
 *
 *   node spawner/keeper.ts DIRECTORY ID FORKER DOOR        (descriptors: the forker is at the other end of one, others knock at the other)
 */
import { createServer, Socket } from "node:net";
import { overSocket } from "../channel.ts";
import { endsFile, readIdentity } from "../files.ts";
import { type Hello, parseToSpawner } from "../messages.ts";
import { Ends } from "./ends.ts";
import { PerlForker } from "./perl-forker.ts";
import { Spawner } from "./spawner.ts";

const [directory, id, forkerNumber, doorNumber] = process.argv.slice(2);
const identity = directory === undefined ? undefined : readIdentity(directory);
if (directory === undefined || id === undefined || doorNumber === undefined || identity === undefined) {
  process.stderr.write("usage: keeper DIRECTORY ID FORKER DOOR, with identity.json in the directory\n");
  process.exit(2);
}

const forker = new PerlForker(
  new Socket({ fd: Number(forkerNumber), readable: true, writable: true }),
  {
    resign: () => spawner.resign(),
    replaced() {},
    gone: () => isLeaving || process.exit(0),
    orphaned: () => spawner.orphaned(),
    taken: (hello, kept) => spawner.inherit(JSON.parse(hello) as Hello, kept),
  },
  "another's",
);
let isLeaving = false;
const leave = (): void => {
  isLeaving = true;
  server.close();
  forker.leave();
  // What was said last must still reach the scheduler: the loop ends by itself once it is written.
  setTimeout(() => process.exit(0), 1_000).unref();
};
const ends = new Ends(endsFile(directory, id));
const spawner = new Spawner({ identity, ends, forker, leave, patienceMs: 0, heir: true });
const server = createServer((socket) => {
  spawner.accept(overSocket(socket, parseToSpawner), "stranger");
  // One who knocked and had no business here: whoever commands the forker goes on doing so.
  socket.on("close", () => forker.isClaimed || process.exit(0));
});
server.on("error", (error) => process.stderr.write(`${String(error)}\n`));
server.listen({ fd: Number(doorNumber) });

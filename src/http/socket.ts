/** The Unix socket: only its owner may open it, from the moment it exists. A socket that a dead daemon left is replaced. */
import { chmodSync, lstatSync, rmSync, type Stats, statSync, symlinkSync } from "node:fs";
import { createConnection, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { UserError } from "../domain/errors.ts";
import { makeFolders } from "../effects/folders.ts";
import { hashToken } from "../effects/random.ts";
import { fitsSocket, socketAddress } from "../wire/place.ts";

const PRIVATE_FOLDER = 0o700;
const OTHERS = 0o077;
const SHARED = 0o1000;
/** Leaves the owner the rights to read and to write. */
const PRIVATE_MASK = 0o177;
/** How many callers may connect at the same moment, within the limit of the system: a whole fleet of sessions that were woken at once. */
const BACKLOG = 4_096;

export interface BoundSocket {
  /** The path by which callers know it. */
  readonly path: string;
  /** Removes what closing the listener leaves behind. */
  remove(): void;
}

/** Makes the folder private. A folder of another user, or a folder that all users may write to, is refused. */
export function makePrivate(folder: string): void {
  try {
    makeFolders(folder);
  } catch (error) {
    throw unusable(`${folder} cannot be made: ${(error as Error).message}`, error);
  }
  const found = statSync(folder);
  // A link must be ours too: in a folder for all users, another user could make it.
  if (!(found.isDirectory() && isOurs(found) && isOurs(lstatSync(folder))))
    throw unusable(`${folder} is not a directory of yours`);
  if ((found.mode & OTHERS) === 0) return;
  if ((found.mode & SHARED) !== 0) throw unusable(`${folder} is shared with others`);
  chmodSync(folder, PRIVATE_FOLDER);
}

/** The scheduler of the state directory has made sure that no other one runs, so two do not race here. */
export async function bindSocket(server: Server, path: string): Promise<BoundSocket> {
  if (fitsSocket(path)) {
    await clear(path);
    await listenPrivately(server, path);
    return { path, remove: () => undefined };
  }
  const short = shortPath(path);
  await clear(path);
  await clear(short);
  await listenPrivately(server, short);
  symlinkSync(short, path);
  return { path, remove: () => rmSync(path, { force: true }) };
}

/** A path that is too long to listen on becomes a link to a short one, in a folder of the user's own. */
function shortPath(path: string): string {
  const folder = join(tmpdir(), `rota-${process.getuid?.() ?? 0}`);
  makePrivate(folder);
  const short = join(folder, `${hashToken(path).slice(0, 16)}.sock`);
  if (fitsSocket(short)) return short;
  throw unusable(
    `The path of the socket is too long: ${path}`,
    undefined,
    "Use a shorter --state DIR or --socket PATH.",
  );
}

/** Removes the socket of a dead daemon. The socket of a living one, or another kind of file, is refused. */
async function clear(path: string): Promise<void> {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return;
  if (!(found.isSocket() || found.isSymbolicLink())) throw unusable(`${path} is not a socket, and is left alone`);
  if (await answers(socketAddress(path))) throw new UserError("STATE_BUSY", `A daemon already listens on ${path}`);
  rmSync(path, { force: true });
}

/** Only a refused connection proves that no daemon listens: a busy daemon lives. */
function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createConnection(path);
    probe.once("connect", () => {
      probe.destroy();
      resolve(true);
    });
    probe.once("error", (error: NodeJS.ErrnoException) =>
      resolve(error.code !== "ECONNREFUSED" && error.code !== "ENOENT" && error.code !== "ENOTSOCK"),
    );
  });
}

/** The socket is created within `listen`, before it returns: with this mask it never has wider rights, not even for a moment. */
function listenPrivately(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(unusable(`${path} cannot be listened on: ${error.message}`, error));
    server.once("error", fail);
    const mask = process.umask(PRIVATE_MASK);
    try {
      server.listen({ path, backlog: BACKLOG }, () => {
        server.off("error", fail);
        resolve();
      });
    } finally {
      process.umask(mask);
    }
  });
}

const isOurs = ({ uid }: Stats): boolean => process.getuid === undefined || uid === process.getuid();

const unusable = (message: string, cause?: unknown, hint?: string): UserError =>
  new UserError("STATE_UNUSABLE", message, { cause, ...(hint !== undefined && { hint }) });

/** Where the socket of a daemon is. */
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";

/** The most bytes a path may have to be the address of a socket; the system keeps one for its own end mark. */
const SOCKET_PATH_MAX = process.platform === "linux" ? 107 : 103;

export const socketPath = (state: string): string => join(state, "rota.sock");

/** Where a daemon whose socket is elsewhere says so. */
export const socketNote = (state: string): string => join(state, "socket.json");

/** Tells a socket from another one that has its name by now. */
export interface NotedSocket {
  readonly socket: string;
  readonly inode: number;
  readonly madeAt: number;
}

export function noteOf(socket: string): NotedSocket {
  const { ino, mtimeMs } = statSync(socket);
  return { socket, inode: ino, madeAt: mtimeMs };
}

/** Where the daemon of a state directory listens. A note that a dead one left is no use: its socket is gone, or is another's. */
export function daemonSocket(state: string): string {
  const note = socketNote(state);
  // Asked for with every request, and an error takes longer to make than the request.
  if (statSync(note, { throwIfNoEntry: false }) === undefined) return socketPath(state);
  try {
    const { socket, inode, madeAt } = JSON.parse(readFileSync(note, "utf8")) as NotedSocket;
    const found = noteOf(socket);
    if (found.inode === inode && found.madeAt === madeAt) return socket;
  } catch {
    // It says nothing that can be used.
  }
  return socketPath(state);
}

export const fitsSocket = (path: string): boolean => Buffer.byteLength(path) <= SOCKET_PATH_MAX;

/** The path to connect to. One that is too long for that is a link to one that is not. */
export function socketAddress(path: string): string {
  if (fitsSocket(path)) return path;
  try {
    return readlinkSync(path);
  } catch {
    return path;
  }
}

/** Where the socket of a daemon is. */
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { join } from "node:path";

/** The most bytes a path may have to be the address of a socket; the system keeps one for its own end mark. */
const SOCKET_PATH_MAX = process.platform === "linux" ? 107 : 103;

export const socketPath = (state: string): string => join(state, "rota.sock");

/** The file in which a daemon notes a socket that is not in the state directory. */
export const socketNote = (state: string): string => join(state, "socket.json");

/** The identity of the socket file: a new socket may have the same path by now. */
export interface NotedSocket {
  readonly socket: string;
  readonly inode: number;
  readonly madeAt: number;
}

export function noteOf(socket: string): NotedSocket {
  const { ino, mtimeMs } = statSync(socket);
  return { socket, inode: ino, madeAt: mtimeMs };
}

/** Where the daemon of a state directory listens. A note that a dead daemon left is not used: its socket is gone, or belongs to another one. */
export function daemonSocket(state: string): string {
  const note = socketNote(state);
  // Checked without an exception: this runs with every request, and an error takes longer to make than the request.
  if (statSync(note, { throwIfNoEntry: false }) === undefined) return socketPath(state);
  try {
    const { socket, inode, madeAt } = JSON.parse(readFileSync(note, "utf8")) as NotedSocket;
    const found = noteOf(socket);
    if (found.inode === inode && found.madeAt === madeAt) return socket;
  } catch {
    // The note cannot be read.
  }
  return socketPath(state);
}

export const fitsSocket = (path: string): boolean => Buffer.byteLength(path) <= SOCKET_PATH_MAX;

/** The path to connect to. A path that is too long is a link to a short one. */
export function socketAddress(path: string): string {
  if (fitsSocket(path)) return path;
  try {
    return readlinkSync(path);
  } catch {
    return path;
  }
}

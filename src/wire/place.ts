/** Where the socket of a daemon is. */
import { readlinkSync } from "node:fs";
import { join } from "node:path";

/** The most bytes a path may have to be the address of a socket; the system keeps one for its own end mark. */
const SOCKET_PATH_MAX = process.platform === "linux" ? 107 : 103;

export const socketPath = (state: string): string => join(state, "rota.sock");

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

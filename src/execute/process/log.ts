/** Care of the log a child writes by itself: it does not grow for ever, and it does not keep secrets. */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, statSync, writeSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";

/** Appended to, made where it is not there, and never written through a link. */
export const LOG_FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;

/** Nothing when there is no log. */
export const logSize = (path: string): number | undefined => {
  try {
    return statSync(path, { throwIfNoEntry: false })?.size;
  } catch {
    return undefined;
  }
};

/**
 * Cuts a log that is longer than `max` back to its first half, with a line that says how much is missing; the child goes on
 * after it, so the beginning and the end stay. Returns how much is missing in all.
 */
export function capLog(path: string, max: number, missing: number): number {
  let log: number | undefined;
  try {
    // Appending, so that the line never lands on what the child has written since.
    log = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_NOFOLLOW);
    const { size } = fstatSync(log);
    if (size <= max) return missing;
    const head = Math.floor(max / 2);
    const total = missing + size - head;
    ftruncateSync(log, head);
    writeSync(log, `\n[rota: the log went over ${max} bytes; ${total} bytes are missing here]\n`);
    return total;
  } catch {
    // A log that cannot be cut is no reason to harm the task.
    return missing;
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

const CHUNK = 1024 * 1024;
const STAR = 0x2a;

/** Overwrites every occurrence of the secrets with stars, in place, so that nothing else in the log moves. */
export async function maskLog(path: string, secrets: readonly string[]): Promise<void> {
  const needles = secrets.map((secret) => Buffer.from(secret)).sort((a, b) => b.length - a.length);
  const longest = needles[0]?.length ?? 0;
  if (longest === 0) return;
  // Not before it is needed: it takes two milliseconds to be loaded, and most runs have no secrets.
  const { open } = await import("node:fs/promises");
  let log: FileHandle | undefined;
  try {
    log = await open(path, constants.O_RDWR | constants.O_NOFOLLOW);
    const buffer = Buffer.alloc(CHUNK + longest);
    for (let from = 0; ; ) {
      const { bytesRead } = await log.read(buffer, 0, buffer.length, from);
      const chunk = buffer.subarray(0, bytesRead);
      if (maskChunk(chunk, needles)) await log.write(chunk, 0, bytesRead, from);
      if (bytesRead < buffer.length) return;
      // The next chunk begins early enough to see a secret that this one cut in two.
      from += bytesRead - longest + 1;
    }
  } catch {
    // The log is gone or not ours: then so are the secrets in it.
  } finally {
    await log?.close();
  }
}

/** Whether anything was masked. */
function maskChunk(chunk: Buffer, needles: readonly Buffer[]): boolean {
  let masked = false;
  for (const needle of needles) {
    for (let at = chunk.indexOf(needle); at !== -1; at = chunk.indexOf(needle, at + needle.length)) {
      chunk.fill(STAR, at, at + needle.length);
      masked = true;
    }
  }
  return masked;
}

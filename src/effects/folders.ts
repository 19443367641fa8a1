/** Folders: made so that only their owner may enter, and on the disk with what is in them. */
import { closeSync, fsyncSync, mkdirSync, openSync, statSync } from "node:fs";
import { dirname } from "node:path";

const OWNER_ONLY = 0o700;

/**
 * Makes the folder and those above it, and says whether it was missing. What the system refuses is thrown. Node's `recursive` is not used,
 * because it tries for ever where the system says ENOENT although the folder above is there, as in `/proc`.
 */
export function makeFolders(path: string): boolean {
  const refusal = tryToMake(path);
  if (refusal === undefined) return true;
  if (isFolder(path)) return false;
  if (refusal.code !== "ENOENT" || dirname(path) === path) throw refusal;
  makeFolders(dirname(path));
  const second = tryToMake(path);
  if (second !== undefined && !isFolder(path)) throw second;
  return second === undefined;
}

function tryToMake(path: string): NodeJS.ErrnoException | undefined {
  try {
    mkdirSync(path, OWNER_ONLY);
    return undefined;
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

const isFolder = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Until then the folder may still have the former file of a name that was replaced. */
export function syncFolder(path: string): void {
  const folder = openSync(path, "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

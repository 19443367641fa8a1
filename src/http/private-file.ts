/** Files that only their owner may read, written whole or not at all. They are on the disk, with their name, before anything is answered. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { unusable } from "../domain/told.ts";
import { syncFolder } from "../effects/folders.ts";

const PRIVATE = 0o600;

/** Only the daemon writes in its directory, so one name for the new file is enough; a file that a crash left is replaced. */
export function writePrivately(path: string, text: string): void {
  const next = `${path}.new`;
  try {
    rmSync(next, { force: true });
    writeFileSync(next, text, { flag: "wx", mode: PRIVATE, flush: true });
    renameSync(next, path);
    syncFolder(dirname(path));
  } catch (error) {
    throw unusable(`${path} cannot be written`, error);
  }
}

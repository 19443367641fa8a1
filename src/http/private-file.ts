/** Files that only their owner may read, written whole or not at all. */
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { UserError } from "../domain/errors.ts";

const PRIVATE = 0o600;

/** Only the daemon writes in its directory, so one name for the new file is enough; a file that a crash left is replaced. */
export function writePrivately(path: string, text: string): void {
  const next = `${path}.new`;
  try {
    rmSync(next, { force: true });
    const file = openSync(next, "wx", PRIVATE);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(next, path);
  } catch (error) {
    throw new UserError("STATE_UNUSABLE", `${path} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}

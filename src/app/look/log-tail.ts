/** The end of a log: it reads a bounded part, whatever the size. */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

const LOOK_BYTES = 8 * 1024;

/** The last lines of the file, oldest first; none when there is no such file. A line that begins before the part is left out. */
export function logTail(file: string, lines: number): readonly string[] {
  let descriptor: number;
  try {
    descriptor = openSync(file, "r");
  } catch {
    return [];
  }
  try {
    const { size } = fstatSync(descriptor);
    const look = Buffer.alloc(Math.min(size, LOOK_BYTES));
    const read = readSync(descriptor, look, 0, look.length, size - look.length);
    const all = look.toString("utf8", 0, read).split("\n");
    if (all.at(-1) === "") all.pop();
    const whole = size > LOOK_BYTES && all.length > 1 ? all.slice(1) : all;
    return whole.slice(-lines);
  } finally {
    closeSync(descriptor);
  }
}

/** Says on standard error when what is about to be shown may not be all that was done. */
import type { DirectoryReader } from "../app/reader.ts";
import type { Terminal } from "./terminal.ts";

/** The same for programs: a field of what they are given as one object. */
export async function sayUnrecovered(
  reader: Pick<DirectoryReader, "unrecovered">,
  terminal: Pick<Terminal, "err">,
): Promise<{ readonly unrecovered?: string }> {
  const unrecovered = await reader.unrecovered();
  if (unrecovered === undefined) return {};
  terminal.err(`${unrecovered}.\n`);
  return { unrecovered };
}

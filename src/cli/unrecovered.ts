/** Says on standard error when what is about to be shown may not be all that was done. */
import type { DirectoryReader } from "../app/reader.ts";
import type { Context, Input } from "./command.ts";
import { reachOf } from "./daemon.ts";
import { withCommands } from "./printed.ts";

/** The same for programs: a field of what they are given as one object. */
export async function sayUnrecovered(
  reader: Pick<DirectoryReader, "state" | "unrecovered">,
  input: Input,
  context: Context,
): Promise<{ readonly unrecovered?: string }> {
  const found = await reader.unrecovered();
  if (found === undefined) return {};
  const unrecovered = withCommands(found, context.commandsTo(reachOf(input, context, reader.state.root)));
  context.terminal.err(`${unrecovered}.\n`);
  return { unrecovered };
}

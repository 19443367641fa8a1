/** Warns on standard error when the output may not include everything that was done. */
import type { DirectoryReader } from "../../../app/look/reader.ts";
import type { Context, Input } from "../../frame/command.ts";
import { reachOf } from "../../frame/daemon.ts";
import { withCommands } from "../../frame/printed.ts";

/** The same for programs: a field of the object they get. */
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

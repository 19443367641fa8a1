/** From the command line to an exit code. Every error on the way is reported here, in one form. */
import { endingAtFaults } from "../app/faults.ts";
import { UserError } from "../domain/errors.ts";
import { toldOf } from "../domain/told.ts";
import type { CommandSpec, Context, Surroundings } from "./frame/command.ts";
import { type CommandLine, parseCommandLine } from "./frame/parse.ts";
import { commandsTo, filledIn, rootHere, rootMeant, withCommands } from "./frame/printed.ts";

export { called } from "./frame/called.ts";
export { systemTerminal } from "./frame/terminal.ts";

/** The program met a fault of its own: what BSD's sysexits call EX_SOFTWARE. */
const EXIT_BUG = 70;

export async function runProgram(args: readonly string[], around: Surroundings): Promise<number> {
  const { COMMANDS } = await import("./frame/commands.ts");
  const context = { ...around, commandsTo: commandsTo(COMMANDS, around) };
  let line: CommandLine | undefined;
  using faults = endingAtFaults();
  try {
    line = parseCommandLine(args, COMMANDS);
    return await Promise.race([obey(line, COMMANDS, context), faults.heard]);
  } catch (error) {
    return await report(toldOf(error), context, line);
  }
}

async function obey(line: CommandLine, commands: readonly CommandSpec[], context: Context): Promise<number> {
  switch (line.kind) {
    case "version": {
      const { version } = await import("./version.ts");
      context.terminal.out(`${version()}\n`);
      return 0;
    }
    case "help": {
      const { helpOn } = await import("./frame/help.ts");
      const text = helpOn(line.command ?? line.family, commands, context.terminal);
      // Without a command there is nothing to do, and a script should notice that.
      if (line.asked) context.terminal.out(text);
      else context.terminal.err(text);
      return line.asked ? 0 : 2;
    }
    case "command": {
      const { run } = await line.command.load();
      return await run(line.input, context);
    }
  }
}

/** `CODE: message (hint)` for errors that the user can put right, one line for faults of the program. */
async function report(error: unknown, context: Context, line: CommandLine | undefined): Promise<number> {
  const { terminal, env } = context;
  // Messages quote plans, paths and arguments, which may contain anything.
  const { neutralizeLines: printable } = await import("../views/text/text.ts");
  if (error instanceof UserError) {
    const message = printable(error.message);
    terminal.err(
      `${error.code}: ${message}${message.includes("\n") ? "\n" : " "}(${printable(hintOf(error, context, line))})\n`,
    );
    return error.exitCode;
  }
  const message = error instanceof Error ? error.message : String(error);
  terminal.err(`rota: internal error: ${printable(message)} (please report it; ROTA_DEBUG=1 shows where)\n`);
  if (env["ROTA_DEBUG"] === "1" && error instanceof Error) terminal.err(`${printable(error.stack ?? "")}\n`);
  return EXIT_BUG;
}

/** Its commands work for the state directory of the failed command. */
function hintOf({ hint }: UserError, context: Context, line: CommandLine | undefined): string {
  if (line?.kind !== "command") return withCommands(hint, context.commandsTo({ root: rootHere(context) }));
  const { command, input } = line;
  const root = rootMeant(command.name, input, context);
  const socket = input.text("socket") || context.env["ROTA_SOCKET"] || undefined;
  return withCommands(hint, context.commandsTo({ root, socket }), filledIn(command, input));
}
